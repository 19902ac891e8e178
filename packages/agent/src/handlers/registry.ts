import type { Handlers } from './handler.ts';
import { createPipelineExecutionHandler, type PipelineExecutionDependencies } from './pipeline-execution.ts';
import { createSecretWriteHandler, type SecretWriteDependencies } from './secret-write.ts';

export type HandlerDependencies = PipelineExecutionDependencies & SecretWriteDependencies;

export function createHandlers(dependencies: HandlerDependencies): Handlers {
  return {
    'pipeline-execution': createPipelineExecutionHandler(dependencies),
    'secret-write': createSecretWriteHandler(dependencies),
  };
}
