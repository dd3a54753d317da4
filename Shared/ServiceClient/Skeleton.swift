enum ServiceClientSkeleton {}
