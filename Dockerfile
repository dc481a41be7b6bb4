# syntax=docker/dockerfile:1
# The gateway and its probe, with Python for plugins. Debian 12 in both stages: the embedded Python is the distribution's.
#   docker build -t credgate .
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev python3 libpython3-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package credgate --package credgate-probe \
 && strip target/release/credgate target/release/credgate-probe

FROM debian:bookworm-slim
# libpython3.11 brings the standard library; ca-certificates are for databases and plugins that speak TLS.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libpython3.11 ca-certificates \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/credgate /src/target/release/credgate-probe /usr/bin/
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /var/lib/credgate
# lookup, control, metrics
EXPOSE 7443 7444 9464
# `credgate check-config` prints the time that a stop takes: give `docker stop --time` more.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/credgate"]
CMD ["serve", "--config", "/etc/credgate/credgate.toml"]
