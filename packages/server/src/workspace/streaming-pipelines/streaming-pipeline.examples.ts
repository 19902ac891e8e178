/** A request that succeeds for each operation on streaming pipelines. */
import type { StreamingPipeline } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';

const buildSource = ({ project }: Place) => ({
  type: 'postgres',
  connection: {
    host: 'orders.example.com',
    port: 5432,
    database: 'orders',
    username: 'stream',
    password: {
      secretType: 'aws_secrets_manager',
      secretName: `${project.projectId}/orders-db`,
      secretKey: 'password',
    },
    jdbcProperties: { sslmode: 'verify-full' },
  },
  tables: [
    { schema: 'public', table: 'orders' },
    { schema: 'public', table: 'order_lines' },
  ],
});
const streamingTarget = {
  type: 's3',
  bucket: 'orders-stream',
  prefix: 'orders',
  decimalMapping: 'logical',
};

function buildDefinition(place: Place) {
  return { name: place.named('orders'), streamingSource: buildSource(place), streamingTarget };
}

async function createStreamingPipeline(place: Place) {
  const path = `${place.project.path}/streaming-pipelines`;
  const { body } = await place.account.admin.post<StreamingPipeline>(path, buildDefinition(place));
  const { streamingPipelineId } = body;
  return { streamingPipelineId, path: `${path}/${streamingPipelineId}` };
}

export const streamingPipelineExamples: Examples = {
  async listStreamingPipelines(place) {
    await createStreamingPipeline(place);
    return { path: `${place.project.path}/streaming-pipelines` };
  },
  async createStreamingPipeline(place) {
    const { agentId } = await place.account.agent(undefined, { agentType: 'streaming' });
    return {
      path: `${place.project.path}/streaming-pipelines`,
      body: {
        ...buildDefinition(place),
        agentId,
        advancedProperties: { 'snapshot.mode': 'initial' },
      },
    };
  },
  async getStreamingPipeline(place) {
    const { path } = await createStreamingPipeline(place);
    return { path };
  },
  async updateStreamingPipeline(place) {
    const { path } = await createStreamingPipeline(place);
    return {
      path,
      body: {
        ...buildDefinition(place),
        streamingTarget: { type: 'file', path: '/data/orders', format: 'avro' },
      },
    };
  },
  async deleteStreamingPipeline(place) {
    const { path } = await createStreamingPipeline(place);
    return { path };
  },
  async getStreamingPipelineStatus(place) {
    const { path } = await createStreamingPipeline(place);
    return { path: `${path}/status` };
  },
  async commandStreamingPipeline(place) {
    const { path, streamingPipelineId } = await createStreamingPipeline(place);
    await place.account.runStreamingPipeline(streamingPipelineId);
    return { path: `${path}/commands`, body: { command: 'STOP' } };
  },
};
