/** Problems and events of pipeline executions. */
import { didYouMean, kind, quoted } from '../outcomes/problem-kind.ts';
import type { Outcomes } from '../outcomes/sum-of-outcomes.ts';
import type { VariableType } from '../variable/variable-value.ts';

const remedies: Readonly<Record<VariableType, string>> = {
  TEXT: 'set it in `scalarVariables`',
  NUMBER: 'set it in `scalarVariables` to a number, such as 7 or "7.5"',
  GRID: 'set it in `gridVariables` to a list of rows',
};

const startProblems = {
  'pipeline-not-found': kind<{
    name: string;
    versionName: string;
    /** The request named no version. */
    isNewest?: boolean;
    nearest: string | undefined;
  }>(
    404,
    'The version has no pipeline with this name.',
    ({ name, versionName, isNewest = false, nearest }) =>
      `The version ${quoted(versionName)}${isNewest ? ', the newest enabled one in the environment,' : ''} has no pipeline ${quoted(name)}; a pipeline's name is its path, with or without ".orch.yaml" or ".tran.yaml".${didYouMean(nearest)}`,
  ),
  'pipeline-unreadable': kind<{ path: string; versionName: string; reason: string }>(
    422,
    'The pipeline is not in the version, because its file could not be read when the version was uploaded.',
    ({ path, versionName, reason }) =>
      `The version ${quoted(versionName)} does not have ${quoted(path)}, because the file could not be read when it was uploaded: ${reason}. Correct the file and publish another version.`,
  ),
  'execution-tag-running': kind<{ tag: string; environmentName: string }>(
    409,
    'An execution with this tag is already running in the environment.',
    ({ tag, environmentName }) =>
      `An execution tagged ${quoted(tag)} is already running in the environment ${quoted(environmentName)}.`,
  ),
  'queue-full': kind<{ environmentName: string; limit: number }>(
    409,
    'As many runs of the environment wait for an agent as may wait.',
    ({ environmentName, limit }) =>
      `${limit} runs of the environment ${quoted(environmentName)} wait for an agent, which is the limit (HEADGATE_QUEUED_RUNS): wait until some have started, or cancel some.`,
  ),
  'environment-without-agent': kind<{ name: string }>(
    422,
    'The environment has no default agent, and the account does not have exactly one agent.',
    ({ name }) =>
      `The environment ${quoted(name)} has no default agent, and the account has several agents or none: set \`defaultAgentId\` of the environment, or send \`agentId\`.`,
  ),
  'unknown-pipeline-variable': kind<{ field: string; name: string; nearest: string | undefined }>(
    422,
    'The request sets a variable that neither the pipeline nor the project has.',
    ({ field, name, nearest }) =>
      `${field} names ${quoted(name)}, which is neither a public variable of the pipeline nor a variable of the project.${didYouMean(nearest)}`,
  ),
  'pipeline-variable-type': kind<{ field: string; name: string; type: VariableType }>(
    422,
    'The request sets a variable to a value that does not have its type.',
    ({ field, name, type }) => `${field} sets ${quoted(name)}, whose type is ${type}: ${remedies[type]}.`,
  ),
} as const;

export const pipelineExecutionOutcomes = {
  events: [
    'pipeline-execution-requested',
    'pipeline-execution-claimed',
    'pipeline-execution-started',
    'pipeline-execution-cancel-requested',
    'pipeline-execution-silent',
    'pipeline-execution-reclaimed',
    'pipeline-execution-ended',
  ],
  problems: {
    ...startProblems,
    'execution-not-found': kind<{ id: string }>(
      404,
      'The project has no such pipeline execution.',
      ({ id }) => `There is no pipeline execution ${id}.`,
    ),
    'execution-not-restartable': kind<{ id: string; reason: string }>(
      409,
      'The execution cannot be restarted: it has not failed, or what it needs is not kept.',
      ({ id, reason }) => `The pipeline execution ${id} cannot be restarted: ${reason}.`,
    ),
    'restart-repeats-effects': kind<{ components: readonly string[]; more: number }>(
      409,
      'Steps that would run again may have had an effect.',
      ({ components, more }) =>
        `These components may have had an effect, and would run again: ${components.map(quoted).join(', ')}${more > 0 ? ` and ${more} more` : ''}. See \`violations\`. To run them again, send their names as \`acceptEffects\`.`,
    ),
    'unknown-restart-component': kind<{ name: string; id: string; nearest: string | undefined }>(
      422,
      '`from` names a component that did not run in the execution.',
      ({ name, id, nearest }) =>
        `body.from is ${quoted(name)}, but no component with this name ran in the started pipeline of the execution ${id}: use FAILED, or the name of one that ran.${didYouMean(nearest)}`,
    ),
    'execution-ended': kind<{ id: string; status: string }>(
      409,
      'The execution has already ended.',
      ({ id, status }) => `The pipeline execution ${id} has already ended: ${status}.`,
    ),
  },
} as const satisfies Outcomes;
