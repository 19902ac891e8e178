/** Tools that run pipelines and tests in the environment of the task, and read what became of runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  getPipelineExecution,
  getTestExecution,
  listPipelineExecutionLogs,
  listPipelineExecutionSteps,
  listPipelineExecutions,
  startPipelineExecution,
  startTestExecution,
} from '@headgate/contract';
import { Type } from 'typebox';
import { countOf } from '../../kernel/count-of.ts';
import { declareTool, object, quote, requireEnvironment, type ToolServices } from './declared-tool.ts';
import { type RunKind, storeRun } from './run.store.ts';
import { actForAll, requireRights, toCaller } from './tool/actors.ts';
import type { Tool, ToolContext } from './tool/tool.ts';

const lookAgainMilliseconds = 500;
const defaultWaitSeconds = 60;
const mostSteps = 200;
const mostLines = 500;
const messageLength = 1_000;

const NameInput = Type.String({ minLength: 1, maxLength: 1_024 });
const IdInput = Type.String({ minLength: 1, maxLength: 36, description: 'The id of a run' });
const WaitInput = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 300,
    description: `How long to wait for the end. Default: ${defaultWaitSeconds}`,
  }),
);

export function createRunTools(services: ToolServices): Tool[] {
  return [
    createRunTool(services),
    createTestTool(services),
    createListTool(services),
    createStepsTool(services),
    createLogsTool(services),
  ];
}

function createRunTool(services: ToolServices): Tool {
  const values = Type.Record(Type.String({ maxLength: 255 }), Type.Union([Type.String(), Type.Number()]), {
    maxProperties: 100,
  });
  return declareTool({
    name: 'run_pipeline',
    description:
      'Run a published pipeline in the environment of the task, and wait for its end. It runs the newest enabled version, not the edits of this task.',
    input: object({ pipelineName: NameInput, variables: Type.Optional(values), waitSeconds: WaitInput }),
    inEnvironment: true,
    asks: ({ pipelineName, variables = {} }, context) => ({
      title: `Run ${quote(pipelineName)} in ${quote(requireEnvironment(context))}`,
      body: `Runs the newest version of the pipeline ${quote(pipelineName)} in the environment ${quote(requireEnvironment(context))}, with the variables ${JSON.stringify(variables)}. It may change data.`,
    }),
    async run(context, { pipelineName, variables, waitSeconds = defaultWaitSeconds }) {
      const environmentName = requireEnvironment(context);
      const params = { projectId: context.task.projectId };
      const by = toCaller(context);
      const body = {
        pipelineName,
        environmentName,
        ...(variables === undefined ? {} : { scalarVariables: variables }),
      };
      const started = await services.platform.call(
        startPipelineExecution,
        by,
        { params, body },
        context.callId,
      );
      const { pipelineExecutionId } = started;
      await keepRun(services, context, pipelineExecutionId, 'PIPELINE');
      const run = await waitFor(context, waitSeconds, async () => {
        const members = { params: { ...params, pipelineExecutionId } };
        const found = await services.platform.call(getPipelineExecution, by, members);
        return { isEnded: hasEnded(found.status), found };
      });
      const message = run.message === undefined ? '' : `: ${run.message.slice(0, messageLength)}`;
      return `The run ${pipelineExecutionId} of ${run.pipelineName} in ${quote(environmentName)} is ${run.status}${message}`;
    },
  });
}

function createTestTool(services: ToolServices): Tool {
  return declareTool({
    name: 'run_tests',
    description:
      'Run all published tests in the environment of the task, and wait for their end. Tests change no data.',
    input: object({ waitSeconds: WaitInput }),
    inEnvironment: true,
    asks: (_, context) => ({
      title: `Run the tests in ${quote(requireEnvironment(context))}`,
      body: `Runs all tests of the newest version in the environment ${quote(requireEnvironment(context))}. They change no data.`,
    }),
    async run(context, { waitSeconds = defaultWaitSeconds }) {
      const environmentName = requireEnvironment(context);
      const params = { projectId: context.task.projectId };
      const by = toCaller(context);
      const body = { scope: 'PROJECT' as const, environmentName };
      const started = await services.platform.call(startTestExecution, by, { params, body }, context.callId);
      const { testExecutionId } = started;
      await keepRun(services, context, testExecutionId, 'TESTS');
      const run = await waitFor(context, waitSeconds, async () => {
        const members = { params: { ...params, testExecutionId } };
        const found = await services.platform.call(getTestExecution, by, members);
        return { isEnded: hasEnded(found.status), found };
      });
      return `The test run ${testExecutionId} is ${run.status}:\n${JSON.stringify(run, null, 1)}`;
    },
  });
}

const hasEnded = (status: string) => !['RUNNING', 'CANCELLING', 'UNKNOWN'].includes(status);

/** For people who look at the task. */
async function keepRun(
  { database }: ToolServices,
  { task, now }: ToolContext,
  executionId: string,
  kind: RunKind,
): Promise<void> {
  await database.transaction(async (tx) =>
    tx.send(storeRun, {
      account_id: task.accountId,
      task_id: task.taskId,
      execution_id: executionId,
      kind,
      now,
    }),
  );
}

/** Looks again until the end, or until the time is over. */
async function waitFor<Found>(
  { signal }: ToolContext,
  seconds: number,
  look: () => Promise<{ isEnded: boolean; found: Found }>,
): Promise<Found> {
  const until = performance.now() + seconds * 1_000;
  for (;;) {
    const { isEnded, found } = await look();
    if (isEnded || performance.now() >= until) return found;
    await sleep(lookAgainMilliseconds, undefined, { signal });
  }
}

function createListTool(services: ToolServices): Tool {
  return declareTool({
    name: 'list_runs',
    description: 'List the last runs in the environment of the task, newest first.',
    input: object({
      pipelineName: Type.Optional({ ...NameInput, description: 'A part of the name' }),
      onlyFailed: Type.Optional(Type.Boolean()),
    }),
    async run(context, { pipelineName, onlyFailed = false }) {
      const environmentName = requireEnvironment(context);
      // The list is of what the creator may read; the others must be able to read it too.
      await requireRights(actForAll(services, listPipelineExecutionSteps, context, environmentName));
      const filter = {
        projectId: context.task.projectId,
        environmentName,
        limit: 20,
        ...(pipelineName === undefined ? {} : { pipelineName }),
        ...(onlyFailed ? { status: ['FAILED' as const] } : {}),
      };
      const by = toCaller(context);
      const { results } = await services.platform.call(listPipelineExecutions, by, { query: filter });
      const lines = results.map(({ pipelineExecutionId, pipelineName: name, status, startedAt, message }) => {
        const why = message === undefined ? '' : `: ${message.slice(0, messageLength)}`;
        return `${pipelineExecutionId} ${startedAt} ${name} ${status}${why}`;
      });
      return lines.length === 0 ? 'There are no such runs.' : lines.join('\n');
    },
  });
}

function createStepsTool(services: ToolServices): Tool {
  return declareTool({
    name: 'read_steps',
    description: 'Read the steps of a run: what each component did, and why it failed.',
    input: object({ pipelineExecutionId: IdInput }),
    async run(context, { pipelineExecutionId }) {
      const params = { projectId: context.task.projectId, pipelineExecutionId };
      const { results, total } = await services.platform.call(listPipelineExecutionSteps, toCaller(context), {
        params,
        query: { page: 0, size: 100 },
      });
      const lines = results.slice(0, mostSteps).map((step) => {
        const { name } = step;
        const { status, message, rowCount } = step.result;
        const rows = rowCount === undefined ? '' : `, ${countOf(rowCount, 'row')}`;
        return `${name}: ${status}${rows}${message === undefined ? '' : `: ${message.slice(0, messageLength)}`}`;
      });
      if (total > results.length) lines.push(`and ${countOf(total - results.length, 'more step')}`);
      return lines.length === 0 ? 'The run has no steps yet.' : lines.join('\n');
    },
  });
}

function createLogsTool(services: ToolServices): Tool {
  return declareTool({
    name: 'read_logs',
    description: 'Read the lines that a run printed.',
    input: object({ pipelineExecutionId: IdInput }),
    async run(context, { pipelineExecutionId }) {
      const params = { projectId: context.task.projectId, pipelineExecutionId };
      const { results, more } = await services.platform.call(listPipelineExecutionLogs, toCaller(context), {
        params,
        query: { limit: mostLines },
      });
      const lines = results.map(({ timestamp, stream, text }) => `${timestamp} ${stream}: ${text}`);
      if (more !== undefined) lines.push('and more lines');
      return lines.length === 0 ? 'The run printed nothing.' : lines.join('\n');
    },
  });
}
