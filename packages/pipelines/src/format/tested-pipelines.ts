/** Tests: orchestrations that run a pipeline in a scratch database and check what it did. */
import type { Pipeline } from './pipeline.ts';

export const pipelineUnderTestType = 'run-pipeline-under-test';
/** Of one test. Only what a list of tests shows is cut. */
const testedLimit = 100;

/** The names of the pipelines that a test runs, as written; empty if the pipeline is no test. */
export function listTestedPipelines(pipeline: Pipeline): string[] {
  if (pipeline.type !== 'orchestration') return [];
  const names = [...pipeline.components.values()].flatMap(({ type, skipped, parameters }) => {
    const { pipelineName } = parameters;
    if (type !== pipelineUnderTestType || skipped) return [];
    return [typeof pipelineName === 'string' ? pipelineName : ''];
  });
  return [...new Set(names)].slice(0, testedLimit);
}
