/** Runs a root pipeline and the pipelines it calls, over the ports. */
import {
  createDeclaredVariable,
  createDuckdb,
  createExpressionEngine,
  createPostgres,
  createProjectVariable,
  createRedshift,
  createScope,
  createSnowflake,
  type Dialect,
  expressionBytesLimit,
  expressionMillisecondsLimit,
  findSecretOfDefault,
  iterationLimit,
  listCandidatePaths,
  type Orchestration,
  type Pipeline,
  pipelineDepthLimit,
  pipelinePath,
  pipelineTypeOf,
  setArguments,
  setDefault,
  stepLimit,
  type Transformation,
  type Variable,
  type VariableDeclaration,
  type VariableScope,
  variableRowLimit,
} from '@headgate/pipelines';
import { describeCancellation } from '../../cancellation.ts';
import { restoreProjectVariables, restoreVariables } from '../context/restart-values.ts';
import {
  type CallOutcome,
  getMessage,
  type PipelineCall,
  type PipelineRun,
  type RunArtifact,
  type RunContext,
} from '../context/run-context.ts';
import { createVariableRecorder } from '../context/run-variables.ts';
import { cutMessage } from '../context/step.ts';
import { createStepRecords } from '../context/step-records.ts';
import { runSqlBytes } from '../context/step-sql.ts';
import { createTestAsserts } from '../context/test-asserts.ts';
import type { RunBounds, RunOutcome, RunPorts, RunRequest } from '../ports/ports.ts';
import { concealSql } from '../session/concealed-sql.ts';
import { createRepeatedKeys, noRepeatedKeys } from '../session/repeated-keys.ts';
import { createSession } from '../session/session.ts';
import { describeError } from '../session/sql-failure.ts';
import { createOwnArtifact, createSharedArtifacts } from './artifact.ts';
import { runOrchestration } from './orchestration.ts';
import { createRunCheck } from './run-check.ts';
import { createRunSecrets, type RunSecrets } from './run-secrets.ts';
import { refuseUnsafeTest } from './test-check.ts';
import { runTransformation } from './transformation.ts';

/** The default limits of a run. */
export const runBounds: RunBounds = {
  pipelineDepth: pipelineDepthLimit,
  iterations: iterationLimit,
  steps: stepLimit,
  expressionMilliseconds: expressionMillisecondsLimit,
  expressionBytes: expressionBytesLimit,
  variableRows: variableRowLimit,
};

/**
 * Runs a pipeline to its end.
 *
 * @returns the outcome. The message of a failure names the pipeline's file and the component. Rejects only if
 *   a port other than the warehouse rejects.
 */
export async function runPipeline(request: RunRequest, ports: RunPorts): Promise<RunOutcome> {
  const isServed = request.warehouse !== 'DUCKDB';
  const secrets = createRunSecrets(ports, isServed ? createDialect(request).user.lexical : undefined);
  const outcome = await runRoot(request, secrets);
  if (outcome.message === undefined) return outcome;
  return { ...outcome, message: cutMessage(secrets.mask(outcome.message)) };
}

/**
 * A test does everything in a scratch database, also what it does before it runs the pipeline under test.
 *
 * @returns the request with what names without a schema mean there
 */
async function enterScratchIfTest(
  artifact: RunArtifact,
  request: RunRequest,
  secrets: RunSecrets,
): Promise<RunRequest> {
  if (request.isTest === true) return request;
  const path = listCandidatePaths(request.pipelineName).find((each) => artifact.files.has(each));
  const outline = path === undefined ? undefined : await artifact.checked.outline(path);
  if (outline === undefined || 'reason' in outline || outline.testedPipelines === undefined) return request;
  const { schema } = await secrets.ports.enterScratch();
  const { defaults } = request;
  const isPlaced = schema !== undefined && defaults !== undefined;
  return { ...request, ...(isPlaced ? { defaults: { ...defaults, schema } } : {}), isTest: true };
}

async function runRoot(input: RunRequest, secrets: RunSecrets): Promise<RunOutcome> {
  try {
    const { restart, variables } = input;
    const inputs = restart === undefined ? variables : restoreProjectVariables(variables, restart);
    const scope = createScope(inputs.map(createProjectVariable));
    const artifact = createOwnArtifact(input, secrets.ports);
    const request = await enterScratchIfTest(artifact, input, secrets);
    const isTest = request.isTest === true;
    if (isTest && restart !== undefined)
      throw new Error('a test cannot be restarted, because its scratch database is gone: start it again');
    const context = createContext(request, secrets, { scope, isTest });
    if (isTest) await refuseUnsafeTest(artifact, request.pipelineName, context);
    const root = {
      artifact,
      name: request.pipelineName,
      type: pipelineTypeOf(request.pipelineName),
      pipelineRunId: request.pipelineExecutionId,
      chain: [],
      scope,
      scalars: Object.entries(request.scalarVariables),
      grids: Object.entries(request.gridVariables),
      ...(restart?.runs[0] === undefined ? {} : { restarted: restart.runs[0] }),
    };
    const outcome = await context.call(root, context);
    const { scope: _, ...result } = outcome;
    const tested = context.asserts?.getOutcome();
    return { ...(context.getHaltOutcome() ?? result), ...(tested === undefined ? {} : { tested }) };
  } catch (error) {
    return { status: 'FAILED', message: getMessage(error) };
  }
}

function createDialect({ warehouse, sql, defaults }: RunRequest): Dialect {
  if (warehouse === 'SNOWFLAKE') return createSnowflake({ schema: defaults?.schema ?? 'PUBLIC' });
  const place = { schema: defaults?.schema ?? 'public' };
  if (warehouse === 'POSTGRES') return createPostgres(place);
  return warehouse === 'REDSHIFT' ? createRedshift(place) : createDuckdb(sql);
}

function createContext(
  request: RunRequest,
  { source, ports, mask }: RunSecrets,
  { scope, isTest }: { scope: VariableScope; isTest: boolean },
): RunContext {
  const { bounds } = request;
  let steps = 0;
  let last: Promise<unknown> = Promise.resolve();
  let final: RunOutcome | undefined;
  const getSharedArtifact = createSharedArtifacts(ports);
  const expressions = createExpressionEngine(
    { milliseconds: bounds.expressionMilliseconds, bytes: bounds.expressionBytes },
    source,
    {
      create: ports.createQuickJs,
      onBroken: () => ports.reportFault('a broken instance of QuickJS'),
    },
  );
  const concealed = concealSql(createDialect(request), source, mask);
  // A scratch database belongs to one session.
  const warehouse = createSession(ports.warehouse, isTest ? 1 : ports.sessions);
  const context: RunContext = {
    request,
    ports,
    dialect: concealed.dialect,
    warehouse,
    repeatedKeys: concealed.dialect.enforcesKeys
      ? noRepeatedKeys
      : createRepeatedKeys(warehouse, concealed.dialect.name),
    expressions,
    readSecret: (name) => source.read(name),
    mask,
    showSql: concealed.show,
    showSqlIfPlain: concealed.showIfPlain,
    describeError: (error) => describeError(error, { ...concealed, showSql: concealed.showIfPlain, mask }),
    asserts: isTest ? createTestAsserts(mask) : undefined,
    recordVariables: createVariableRecorder(request.variables, scope, mask, ports.recordVariables),
    records: createStepRecords(mask),
    sqlRoom: { left: runSqlBytes },
    countStep: () => {
      steps += 1;
    },
    halt(outcome) {
      final ??= outcome;
    },
    getHaltOutcome: () => final,
    check: createRunCheck(request, { expressions, caches: ports.caches }, getSharedArtifact),
    findHalt() {
      if (final !== undefined) return final;
      if (ports.isCancelled())
        return {
          status: 'CANCELLED',
          message: `${describeCancellation(ports.getCanceller())}; the running steps have finished`,
        };
      if (steps < bounds.steps) return undefined;
      return {
        status: 'FAILED',
        message: `the run has more than ${bounds.steps} steps, which is the limit: check iterators and calls that run too often`,
      };
    },
    call: (call, within) => callPipeline(within, call),
    getSharedArtifact: getSharedArtifact,
    runExclusively(work) {
      const result = last.then(work);
      last = result.catch(() => undefined);
      return result;
    },
  };
  return context;
}

/** Runs a called pipeline with its own variables. An invalid call gives a FAILED outcome, not an error. */
async function callPipeline(context: RunContext, call: PipelineCall): Promise<CallOutcome> {
  try {
    const pipeline = await findSoundPipeline(context, call);
    const chain = [...call.chain, pipeline.path];
    const limit = context.request.bounds.pipelineDepth;
    if (chain.length > limit) {
      throw new HaltingError(
        `the depth of calls exceeds ${limit} (${describeChain(chain)}): check for a pipeline that calls itself endlessly`,
      );
    }
    const scalars = [...call.scalars];
    const grids = [...call.grids];
    const inputs = new Set([...scalars, ...grids].map(([name]) => name));
    const scope = call.scope.call(await readOwnVariables(context, pipeline, inputs));
    setArguments(scope, scalars, grids);
    const { pipelineRunId, artifact, restarted } = call;
    restoreVariables(scope, restarted?.variables ?? []);
    context.records.open(pipelineRunId, scope);
    context.recordVariables({
      pipelineRunId,
      pipeline,
      scope,
      overridden: inputs,
      isRoot: call.chain.length === 0,
    });
    const frame = { context, pipelineRunId, pipeline, artifact, chain, scope };
    const run = restarted === undefined ? frame : { ...frame, restarted };
    const outcome = await (pipeline.type === 'orchestration'
      ? runOrchestration(run as PipelineRun<Orchestration>)
      : runTransformation(run as PipelineRun<Transformation>));
    return { ...outcome, scope };
  } catch (error) {
    const outcome = { status: 'FAILED', message: getMessage(error) } as const;
    if (error instanceof HaltingError) context.halt(outcome);
    return outcome;
  }
}

/** An error that ends the whole run, even if a failure transition would handle it. */
class HaltingError extends Error {}

/** @throws HaltingError if the pipeline, or one that it can call, is invalid or missing */
async function findSoundPipeline(context: RunContext, call: PipelineCall): Promise<Pipeline> {
  const { name, type, artifact } = call;
  const paths = type === undefined ? listCandidatePaths(name) : [pipelinePath(name, type)];
  for (const path of paths) {
    if (!artifact.files.has(path) && !artifact.files.ignored.has(path)) continue;
    call.onFound?.(path);
    const wrong = await context.check(artifact, path);
    const pipeline = wrong === undefined ? await artifact.pipeline(path) : undefined;
    if (pipeline !== undefined) return pipeline;
    throw new HaltingError(wrong);
  }
  throw new HaltingError(
    `${artifact.title} has no pipeline "${name}" (looked for ${paths.join(' and ')}): publish it or correct the name`,
  );
}

/** The beginning and end of a chain of calls, which is enough to recognize a recursion. */
function describeChain(chain: readonly string[]): string {
  const shown = chain.length <= 8 ? chain : [...chain.slice(0, 4), '…', ...chain.slice(-2)];
  return shown.join(' → ');
}

/**
 * Reads the variables of a starting pipeline with their default values. A default may be a secret.
 *
 * @param inputs names of variables that get another value, so that a secret as default is not read
 * @throws VariableError, or Error if a secret cannot be read
 */
function readOwnVariables(
  context: RunContext,
  pipeline: Pipeline,
  inputs: ReadonlySet<string>,
): Promise<Variable[]> {
  async function createVariable(declaration: VariableDeclaration): Promise<Variable> {
    const secret = findSecretOfDefault(declaration.defaultValue);
    if (secret === undefined) return createDeclaredVariable(declaration);
    if (inputs.has(declaration.name)) return createDeclaredVariable({ ...declaration, defaultValue: '' });
    const defaultValue = await context.readSecret(secret).catch((error) => {
      throw new Error(`${pipeline.path}: the variable "${declaration.name}": ${getMessage(error)}`);
    });
    // A secret's value is never a template.
    return setDefault(createDeclaredVariable({ ...declaration, defaultValue: '' }), defaultValue);
  }
  return Promise.all([...pipeline.variables.values()].map(createVariable));
}
