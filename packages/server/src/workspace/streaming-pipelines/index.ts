import type { Slice } from '../../kernel/slice/slice.ts';
import { streamingPipelineRoutes } from './streaming-pipeline.routes.ts';

export { listStreamingPipelinesNaming } from './streaming-secrets.store.ts';

export const streamingPipelines: Slice = { name: 'streaming-pipelines', routes: streamingPipelineRoutes };
