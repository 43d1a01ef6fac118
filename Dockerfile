# The last stage is the store. Before it: its parts, made from what changes rarely to what changes often, and the
# stage `studio`, which is Prisma Studio. They keep to what Docker's classic builder knows too.

FROM node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are the embedded PostgreSQL and Node.js itself, for machines that lack them. Prisma's client
# brings query compilers for each database that it knows, and Swagger UI the maps of its builds: 70 MB that are of no use
# here.
RUN npm ci --omit=dev --omit=optional \
 && find node_modules/@prisma/client/runtime -name 'query_compiler_*' ! -name 'query_compiler_small_bg.postgresql.*' -delete \
 && find node_modules/swagger-ui-dist -name '*.map' -delete

# What the image is made of, for those who look for known faults. Of the lock file npm would leave out each package that
# the development has too, and of what is installed it wants to know nothing while that is missing.
FROM dependencies AS sbom
RUN npm pkg delete devDependencies optionalDependencies \
 && npm sbom --sbom-format=cyclonedx --sbom-type=application >sbom.cdx.json

# Prisma's command line in the version of the lock file, without the other development packages.
FROM dependencies AS prisma
RUN npm pkg set --json "dependencies.prisma=$(npm pkg get devDependencies.prisma)" \
 && npm pkg delete devDependencies \
 && npm install --omit=optional

FROM prisma AS build
COPY prisma.config.ts ./
COPY prisma prisma
# `generate` downloads the schema engine and then does not use it; any file that exists will do in its place.
RUN PRISMA_SCHEMA_ENGINE_BINARY=/usr/local/bin/node CHECKPOINT_DISABLE=1 npx prisma generate
COPY LICENSE package.json ./
COPY src src
# A checkout may be its owner's alone (umask 077), or come from a file system that has no mode of execution.
RUN chmod -R a+rX,go-w LICENSE package.json prisma prisma.config.ts src && chmod a+x src/main.ts

# What Node.js makes of the sources and packages that every command loads, so that a start takes less time and 20 MiB less. It is
# of use to this user, on a CPU like the builder's; Node.js does without elsewhere. Of V8's options those for memory make no difference.
FROM build AS compiled
RUN install -d -o node /app/.compile-cache
USER node
RUN NODE_COMPILE_CACHE=/app/.compile-cache node src/main.ts --help \
 && chmod -R a+rX /app/.compile-cache

FROM build AS studio
COPY bin/studio-relay.js bin/
RUN chmod a+rX bin bin/studio-relay.js
ENV NODE_ENV=production
USER node
EXPOSE 5556
ENTRYPOINT ["node", "bin/studio-relay.js"]

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title="Plant Store" \
      org.opencontainers.image.description="An HTTP service that keeps plants in PostgreSQL" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="1.0.0"
WORKDIR /app
# The store installs nothing when it runs. Without npm no intruder does, and no scanner reports what npm is made of.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/yarn* /opt/yarn* \
 && ln -s /app/src/main.ts /usr/local/bin/plant-store
ENV NODE_ENV=production HOST=0.0.0.0 METRICS_HOST=0.0.0.0 METRICS_PORT=9464 NODE_COMPILE_CACHE=/app/.compile-cache
COPY --from=dependencies /app/node_modules node_modules
COPY --from=sbom /app/sbom.cdx.json ./
COPY --from=build /app/LICENSE /app/package.json ./
COPY --from=build /app/prisma prisma
COPY --from=build /app/src src
COPY --from=compiled --chown=root:root /app/.compile-cache .compile-cache
# Everything above belongs to root: the store cannot change its own code.
USER node
EXPOSE 3000 9464
# Ready rather than alive: who looks at a container's health (Compose, a proxy, `docker ps`) asks whether it serves, and
# Docker restarts nothing because of it. An orchestrator that does should ask /livez instead.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
ENTRYPOINT ["plant-store"]
CMD ["serve"]
