/** Carries out a component's action over the ports. An error thrown here fails the component. */
import { type Action, evaluateExpression, pipelineTypeOf } from '@headgate/pipelines';
import type { ActionContext, ActionResult } from '../context/action-context.ts';
import { loadEndpoint } from '../endpoints/endpoint-load.ts';
import { nameFile, openFileToRead, requireLoadable, writeFileAtomically } from '../files/files.ts';
import { assertChecks } from './assertion.ts';
import { runCalledPipeline, runPipelineUnderTest } from './call.ts';
import { isTrue } from './condition.ts';
import { iterateFiles } from './file-search.ts';
import { iterate, iterateQuery } from './iteration.ts';
import { retry } from './retry.ts';
import { execute, executeFile } from './script.ts';
import { runScript } from './script-action.ts';
import { assign, changeGrid, queryGrid, queryScalars } from './variable-actions.ts';

type Performers = {
  [A in Action['action']]: (
    action: Extract<Action, { action: A }>,
    context: ActionContext,
  ) => Promise<ActionResult>;
};

export function perform(action: Action, context: ActionContext): Promise<ActionResult> {
  const performer = performers[action.action] as (
    action: Action,
    context: ActionContext,
  ) => Promise<ActionResult>;
  return performer(action, context);
}

const success = { status: 'SUCCESS' } as const;
const succeed = (message: string | undefined): ActionResult =>
  message === undefined ? success : { ...success, message };

const performers: Performers = {
  pass: async ({ message }) => succeed(message),
  end: async () => success,
  async branch({ condition }, { evaluation }) {
    if (typeof condition === 'boolean') return { ...success, branch: condition, message: String(condition) };
    const branch = isTrue(await evaluateExpression(condition.expression, evaluation));
    return { ...success, branch, message: String(branch) };
  },
  execute,
  'execute-file': executeFile,
  'query-scalars': queryScalars,
  'query-grid': queryGrid,
  'change-grid': changeGrid,
  async 'update-scalars'({ updates }, { run, evaluation }) {
    for (const [variable, expression] of updates) await assign(run.context, variable, expression, evaluation);
    return success;
  },
  async print({ lines }, { run, step }) {
    const source = { step: step.current().stepId, stream: 'component' } as const;
    for (const line of lines) run.context.ports.log(line, source);
    return { ...success, message: lines.join('\n') };
  },
  assert: assertChecks,
  'run-pipeline-under-test': runPipelineUnderTest,
  'run-pipeline': (action, context) => {
    const { artifact } = context.run;
    return runCalledPipeline(action, { artifact, type: action.pipelineType }, context);
  },
  async 'run-shared-pipeline'(action, context) {
    const artifact = context.run.context.getSharedArtifact(action.use);
    const called = { artifact, type: pipelineTypeOf(action.pipelineName) };
    const result = await runCalledPipeline(action, called, context);
    // After a failure the message says where it happened; after a success it says which version ran.
    return { message: artifact.title, ...result };
  },
  iterate,
  'iterate-query': iterateQuery,
  'iterate-files': iterateFiles,
  retry,
  async 'load-file'({ source, before, statement, checks }, { run }) {
    const { ports, warehouse, limit } = run.context;
    await using file = await openFileToRead(ports, run.artifact.files, source, limit);
    await requireLoadable(checks, file, warehouse);
    const statements = [...before, statement(file.path)];
    try {
      return { ...success, ...(await warehouse.executeAll({ statements, counted: before.length })) };
    } catch (error) {
      throw nameFile(error, file);
    }
  },
  'load-endpoint': loadEndpoint,
  'run-script': runScript,
  async 'unload-file'({ target, statement }, { run }) {
    const { ports, warehouse } = run.context;
    const { rowCount } = await writeFileAtomically(ports, target, (path) =>
      warehouse.execute(statement(path)),
    );
    return { ...success, rowCount };
  },
};
