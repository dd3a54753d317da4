enum PostgresSkeleton {}
