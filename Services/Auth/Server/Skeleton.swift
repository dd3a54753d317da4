enum AuthServerSkeleton {}
