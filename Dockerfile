# One image for the whole suite: `docker build --tag roost .`, then `docker run roost auth`, `… gateway`, and so on.
#
# All programs share one image because they share most of what is in it: linked to Swift's libraries as they are here,
# they and those libraries take 200 MB; each with the libraries linked into it, and alone in an image, takes 90 MB of its
# own. The image has nothing else in it: no shell, no package manager, nobody who is root.

FROM docker.io/library/swift:6.3-bookworm AS build

RUN apt-get update --quiet=2 \
    && apt-get install --yes --quiet=2 --no-install-recommends \
        ca-certificates libargon2-dev libnats-dev libpq-dev libvips-dev pkg-config postgresql-client-15 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /roost
COPY . .
ARG PROGRAMS="auth conversations photos push social image-worker gateway roost sandbox"
# As `make programs` has them: docs/decisions/0007.
ARG FLAGS="-Xswiftc -enforce-exclusivity=unchecked"
# The caches make the next build as quick as one outside of a container.
RUN --mount=type=cache,target=/roost/.build,sharing=locked \
    --mount=type=cache,target=/root/.cache/org.swift.swiftpm,sharing=locked \
    PROGRAMS_ONLY=1 swift build --configuration release $FLAGS \
    && mkdir -p /image/usr/local/bin \
    && for program in $PROGRAMS; do strip --output-file=/image/usr/local/bin/$program .build/release/$program || exit 1; done

# What the programs need to run: the libraries they are linked to, pg_dump and pg_restore for `roost backup`, authorities
# to trust, names for the user and for where hosts are looked up, and places to write. Of libvips' modules the one that reads
# HEIC, which is loaded from beside the library when it is asked for: ldd does not see it from the programs.
RUN mkdir -p /image/usr/lib/postgresql/15/bin /image/etc/ssl/certs /image/var/lib/roost/blobs /image/var/lib/roost/sandbox \
        /image/backups \
    && install --directory --mode=1777 /image/tmp \
    && cp /usr/lib/postgresql/15/bin/pg_dump /usr/lib/postgresql/15/bin/pg_restore /image/usr/lib/postgresql/15/bin/ \
    && heif=$(ls /lib/*/vips-modules-*/vips-heif.so) \
    && { echo "$heif" && ldd /image/usr/local/bin/* /image/usr/lib/postgresql/15/bin/* "$heif"; } \
        | awk '$2 == "=>" { print $3 } $1 ~ "^/" && $1 !~ ":$" { print $1 }' | sort --unique \
        | xargs cp --dereference --parents --target-directory=/image \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && echo 'hosts: files dns' >/image/etc/nsswitch.conf \
    && echo 'roost:x:65532:65532:Roost:/var/lib/roost:/usr/sbin/nologin' >/image/etc/passwd \
    && echo 'roost:x:65532:' >/image/etc/group \
    && chown -R 65532:65532 /image/var/lib/roost /image/backups

FROM scratch
ARG REVISION=unknown
ARG VERSION=unreleased
LABEL org.opencontainers.image.title="Roost" \
      org.opencontainers.image.description="A social backend that a team hosts itself" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /image/ /
# The programs are stripped and there is no backtracer: a trap prints its message, and the process ends at once.
ENV SWIFT_BACKTRACE=enable=no
# Inside of a container nobody but its network hears what listens on all addresses.
ENV PATH=/usr/local/bin HOST=0.0.0.0 MANAGEMENT_HOST=0.0.0.0
USER 65532:65532
WORKDIR /var/lib/roost
# auth 8081, conversations 8082, photos 8084, push 8085, the sandbox 8090 to 8092, the gateway 8080 and its metrics 9090.
EXPOSE 8080 8081 8082 8084 8085 8090 8091 8092 9090
STOPSIGNAL SIGTERM
CMD ["roost", "--help"]
