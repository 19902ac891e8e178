/** What the tests over all operations need from this slice. */
import type { StreamingPipeline } from '@headgate/contract';
import type { Place } from '../../../testing/place.ts';
import type { SliceGuards } from '../../../testing/slice-guards.ts';
import { streamingPipelineExamples } from './streaming-pipeline.examples.ts';

const buildDefinition = (name: string) => ({
  name,
  streamingSource: {
    type: 'mysql',
    connection: {
      host: 'db.example.com',
      port: 3306,
      username: 'stream',
      password: { secretType: 'headgate_vault', secretName: 'db' },
    },
    tables: [{ schema: 'shop', table: 'orders' }],
  },
  streamingTarget: { type: 's3', bucket: 'shop' },
});

const createOne = ({ account, project }: Place, name: string) =>
  account.admin.post<StreamingPipeline>(`${project.path}/streaming-pipelines`, buildDefinition(name));

export const streamingPipelineGuards: SliceGuards = {
  examples: streamingPipelineExamples,
  uniqueNames: {
    createStreamingPipeline: createOne,
    async updateStreamingPipeline(place, name) {
      const { body } = await createOne(place, place.named('stream'));
      const path = `${place.project.path}/streaming-pipelines/${body.streamingPipelineId}`;
      return place.account.admin.send('PUT', path, { body: buildDefinition(name) });
    },
  },
};
