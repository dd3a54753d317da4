enum GatewayTestsSkeleton {}
