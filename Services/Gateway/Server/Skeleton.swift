enum GatewayServerSkeleton {}
