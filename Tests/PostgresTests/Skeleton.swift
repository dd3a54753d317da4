enum PostgresTestsSkeleton {}
