/** A successful request for each message of the agent protocol that belongs to no other resource. */
import { randomUUID } from 'node:crypto';
import { claimOne, createExecution, instanceId } from '../../../testing/executions.ts';
import type { Examples } from '../../../testing/place.ts';

const hello = {
  protocolVersions: [1],
  agentVersion: '1',
  instanceId,
  abilities: ['pipeline-execution'],
  concurrency: 100,
};

export const agentLinkExamples: Examples = {
  agentHello: () => ({
    path: '/hello',
    body: hello,
  }),
  async agentClaim(place) {
    await createExecution(place);
    return { path: '/claims', body: { instanceId, max: 1, waitSeconds: 0 } };
  },
  agentHeartbeat: () => ({ path: '/heartbeats', body: { instanceId, held: [] } }),
  async agentReport(place) {
    const { work } = await claimOne(place);
    const report = { workId: work.workId, epoch: work.epoch, sequence: 1, type: 'started' };
    return { path: '/reports', body: { instanceId, reports: [report] } };
  },
  async agentGoodbye(place) {
    const leaving = randomUUID();
    await place.agent.client.post('/hello', { ...hello, instanceId: leaving });
    return { path: '/goodbye', body: { instanceId: leaving, stage: 'stopped' } };
  },
  async agentDeletedEnvironments({ account, project }) {
    await account.admin.post(`${project.path}/environments`, { name: 'short' });
    await account.admin.delete(`${project.path}/environments/short`);
    return { path: '/deleted-environments', body: { projectIds: [project.projectId] } };
  },
  async agentArtifact(place) {
    const { work } = await claimOne(place);
    return { path: `/artifacts/${work.payload.artifactDigest}` };
  },
  async agentBlob(place) {
    const { work } = await claimOne(place);
    const { files } = (
      await place.agent.client.get<{ files: { sha256: string }[] }>(
        `/artifacts/${work.payload.artifactDigest}`,
      )
    ).body;
    return { path: `/blobs/${files[0]?.sha256}` };
  },
};
