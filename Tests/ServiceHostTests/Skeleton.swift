enum ServiceHostTestsSkeleton {}
