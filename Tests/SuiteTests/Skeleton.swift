enum SuiteTestsSkeleton {}
