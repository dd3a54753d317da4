enum AuthTestsSkeleton {}
