enum AuthAPISkeleton {}
