import type { WorkKind } from '@headgate/contract';
import type { Handler } from './handler.ts';
import { createPipelineExecutionHandler, type PipelineExecutionDependencies } from './pipeline-execution.ts';

export type HandlerDependencies = PipelineExecutionDependencies;

export function createHandlers(dependencies: HandlerDependencies): Record<WorkKind, Handler> {
  return { 'pipeline-execution': createPipelineExecutionHandler(dependencies) };
}
