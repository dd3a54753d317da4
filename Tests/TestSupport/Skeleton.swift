enum TestSupportSkeleton {}
