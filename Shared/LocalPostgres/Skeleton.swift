enum LocalPostgresSkeleton {}
