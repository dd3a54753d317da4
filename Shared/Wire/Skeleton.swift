enum WireSkeleton {}
