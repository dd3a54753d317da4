enum ServiceHostSkeleton {}
