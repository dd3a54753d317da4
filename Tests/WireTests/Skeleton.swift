enum WireTestsSkeleton {}
