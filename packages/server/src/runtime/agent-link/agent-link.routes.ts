/** The server's side of the agent protocol (contract/agent-protocol.ts). */
import {
  agentArtifact,
  agentBlob,
  agentClaim,
  agentDeletedEnvironments,
  agentGoodbye,
  agentHeartbeat,
  agentHello,
  agentProtocolVersion,
  agentReport,
} from '@headgate/contract';
import { readManifestFiles } from '../../delivery/artifacts/index.ts';
import type { Blobs } from '../../delivery/blobs/index.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints, Services } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { WorkOwners, WorkTimes } from '../../kernel/work/work.ts';
import { answersLater, createAgentEndpoints, forgetHeaders } from './agent-endpoint.ts';
import { createClaims } from './claims.ts';
import { createClusterLookup } from './database-cluster.ts';
import { findDeletedEnvironments } from './deleted-environments.store.ts';
import { applyReports, renewLeases } from './holding.ts';
import { readInstanceCommand } from './instance.store.ts';
import { createKnownAgents } from './known-agents.ts';
import { createPresence } from './presence.ts';
import { mayReadBlob, mayReadManifest } from './readable-artifacts.store.ts';

export interface AgentLinkServices extends Services {
  wakes: Wakes;
  owners: WorkOwners;
  times: WorkTimes;
  claimWaitSeconds: number;
  blobs: Blobs;
  version: string;
  /** Aborted when the server stops: waiting claims then get an empty response. */
  stopping: AbortSignal;
}

export function agentLinkRoutes({ app }: Endpoints, services: AgentLinkServices): void {
  const known = createKnownAgents(services.database, services.wakes, () => services.clock.now().getTime());
  const serve = createAgentEndpoints(app, services, known);
  const presence = createPresence(services, known);
  const claims = createClaims(services, presence, known);
  const findCluster = createClusterLookup(services.database);

  serve(agentHello, async ({ agent, body, request }) => {
    if (!body.protocolVersions.includes(agentProtocolVersion)) {
      throw problem('protocol-version-unsupported', { supported: agentProtocolVersion });
    }
    await presence.hello(agent, body, request.id);
    const databaseCluster = await findCluster();
    return {
      protocolVersion: agentProtocolVersion,
      agentId: agent.agentId,
      name: agent.name,
      serverVersion: services.version,
      heartbeatSeconds: services.times.heartbeatSeconds,
      leaseSeconds: services.times.leaseSeconds,
      claimWaitSeconds: services.claimWaitSeconds,
      ...(databaseCluster === undefined ? {} : { databaseCluster }),
    };
  });

  serve(
    agentClaim,
    ({ agent, body, request, reply }) => {
      forgetHeaders(request);
      claims.open({ agent, request: body, reply });
      return answersLater;
    },
    claims.betweenMilliseconds,
  );

  serve(agentHeartbeat, async ({ agent, body, request }) => {
    const key = { agent, instanceId: body.instanceId };
    const [held, [query]] = await Promise.all([
      renewLeases(services, agent, body.held, request.id),
      readInstanceCommand(services.database.read, key),
      presence.seen(key, request.id, false),
    ]);
    return { held, ...(query === undefined ? {} : { agentCommand: query.command }) };
  });

  serve(agentGoodbye, async ({ agent, body, request }) => {
    const { instanceId, stage } = body;
    return { agentStatus: await presence.goodbye({ agent, instanceId }, stage, request.id) };
  });

  serve(agentReport, async ({ agent, body, request }) => ({
    results: await applyReports(services, agent, body.reports, request.id),
  }));

  serve(agentDeletedEnvironments, ({ agent, body }) =>
    findDeletedEnvironments(services.database.read, agent.accountId, body),
  );

  serve(agentArtifact, async ({ agent, params: { digest } }) => {
    const { read } = services.database;
    const [isAllowed, files] = await Promise.all([
      mayReadManifest(read, agent, digest),
      readManifestFiles(read, agent.accountId, digest),
    ]);
    if (!isAllowed || files === undefined) throw problem('blob-not-found', { digest });
    return { digest, files };
  });

  serve(agentBlob, async ({ agent, params: { sha256 }, reply }) => {
    const isAllowed = await mayReadBlob(services.database.read, agent, sha256);
    const blob = isAllowed ? await services.blobs.read(agent.accountId, sha256) : undefined;
    if (blob === undefined) throw problem('blob-not-found', { digest: sha256 });
    reply.headers({ 'content-type': 'application/octet-stream', 'content-length': blob.size });
    return reply.send(blob.stream);
  });
}
