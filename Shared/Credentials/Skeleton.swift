enum CredentialsSkeleton {}
