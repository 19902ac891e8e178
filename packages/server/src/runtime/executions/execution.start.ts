/** The rules for starting a pipeline, and the one statement that reads what they need. */
import { type BodyOf, nearestName, type startPipelineExecution, type VariableType } from '@headgate/contract';
import { listCandidatePaths, type SharedPipelineUse } from '@headgate/pipelines';
import {
  createVersionProblem,
  type PipelineDescription,
  renderPipelinePath,
} from '../../delivery/artifacts/index.ts';
import type { ColumnTypes, ParametersOf, ParameterTypes, RowOf } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';
import type { QueueLimit } from '../../kernel/work/queued-runs.ts';
import type { BudgetStop } from '../../records/budgets/index.ts';
import { joinStart, renderNames, selectStart, startColumns } from './start-needs.ts';

export type StartRequest = BodyOf<typeof startPipelineExecution>;

const startRow = {
  ...startColumns,
  user_name: 'text',
  /** The agent of the request, if it exists. */
  named_agent_id: 'uuid?',
} satisfies ColumnTypes;
/** What a start needs of its place. */
export type StartRow = RowOf<typeof startRow>;

const startTypes = {
  environment_name: 'text',
  /** Null for the newest enabled version. */
  version_name: 'text?',
  /** The names of the variables in the request. */
  variable_names: 'text[]',
  agent_id: 'uuid?',
  /** See `renderNames`. */
  pipeline_names: 'jsonb',
  queue_limit: 'bigint',
} satisfies ParameterTypes;

/** Everything that a start needs. No row if the environment does not exist. */
export const whatStartNeeds = guardedRead(
  {
    parameters: startTypes,
    row: startRow,
  },
  `
  select ${selectStart}, (select name from principal
    where account_id = $account_id and principal_id = $principal_id) as user_name,
    (select agent_id from agent where account_id = $account_id and agent_id = $agent_id::uuid) as named_agent_id
  from environment e
  ${joinStart('$', '$pipeline_names::jsonb')}
  where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name`,
);

/** Where something starts, as a request says it. */
export type StartPlace = Pick<StartRequest, 'environmentName' | 'versionName' | 'agentId'>;

export function createStartParameters(
  body: StartRequest,
  limit: QueueLimit,
): ParametersOf<typeof startTypes> {
  return {
    ...createPlaceParameters(body, limit),
    variable_names: [...Object.keys(body.scalarVariables ?? {}), ...Object.keys(body.gridVariables ?? {})],
    pipeline_names: renderNames([body.pipelineName]),
  };
}

export function createPlaceParameters(
  place: StartPlace,
  { queuedRuns }: QueueLimit,
): ParametersOf<typeof startTypes> {
  return {
    environment_name: place.environmentName,
    version_name: place.versionName ?? null,
    variable_names: [],
    agent_id: place.agentId === undefined ? null : toUuid(place.agentId),
    pipeline_names: '[]',
    queue_limit: queuedRuns,
  };
}

interface ChosenVersion {
  name: string;
  manifestDigest: string;
}

export interface Start {
  version: ChosenVersion;
  pipeline: PipelineDescription;
  agentId: string;
  userName: string;
  /** The first uses of shared pipelines: those of the pipeline, then those of the others of its version. */
  uses: readonly SharedPipelineUse[];
  /** The runs of the environment that wait, counted up to the limit. */
  queuedRuns: number;
  /** Null if the budget of the project stops nothing. */
  budgetStop: BudgetStop | null;
}

/**
 * Throws `environment-not-found`, `artifact-not-found`, `artifact-disabled`, `unknown-agent`,
 * `pipeline-not-found`, `pipeline-unreadable`, `unknown-pipeline-variable`, `pipeline-variable-type` and
 * `environment-without-agent`.
 *
 * @param at where the variables are, for the problems
 */
export function requireStart(found: StartRow | undefined, body: StartRequest, at = 'body'): Start {
  const { row, version } = requireVersion(found, body);
  const pipeline = findPipeline(row, body.pipelineName, version.name, body.versionName === undefined);
  const types = new Map(Object.entries(row.variable_types));
  requireVariables(body, at, pipeline, types);
  const { user_name: userName, queued_runs: queuedRuns, budget_stop: budgetStop } = row;
  const uses = [...(pipeline.sharedPipelines ?? []), ...(row.uses ?? [])];
  return { version, pipeline, agentId: requireAgent(row, body), userName, uses, queuedRuns, budgetStop };
}

/** Throws `environment-not-found`, `artifact-not-found`, `artifact-disabled` and `unknown-agent`. */
export function requireVersion(
  found: StartRow | undefined,
  { environmentName, versionName, agentId }: StartPlace,
): { row: StartRow; version: ChosenVersion } {
  if (found === undefined) throw problem('environment-not-found', { name: environmentName });
  const { version_name: name, manifest_digest: manifestDigest } = found;
  if (name === null || manifestDigest === null) throw createVersionProblem(environmentName, versionName);
  if (found.enabled !== true) throw problem('artifact-disabled', { versionName: name, environmentName });
  if (agentId !== undefined && found.named_agent_id === null) throw problem('unknown-agent', { id: agentId });
  return { row: found, version: { name, manifestDigest } };
}

/** Throws `environment-without-agent`. */
export function requireAgent(found: StartRow, { environmentName }: StartPlace): string {
  const agentId = found.named_agent_id ?? found.default_agent_id ?? found.only_agent_id;
  if (agentId === null) throw problem('environment-without-agent', { name: environmentName });
  return agentId;
}

/**
 * The name may omit the extension; then an orchestration is preferred, even an unreadable one. Throws
 * `pipeline-not-found` and `pipeline-unreadable`.
 */
function findPipeline(
  row: StartRow,
  named: string,
  versionName: string,
  isNewest: boolean,
): PipelineDescription {
  const pipelines = row.pipelines ?? [];
  const ignored = row.ignored ?? [];
  for (const path of listCandidatePaths(named)) {
    const pipeline = pipelines.find((each) => renderPipelinePath(each) === path);
    if (pipeline !== undefined) return pipeline;
    const reason = ignored.find((each) => each.path === path)?.reason;
    if (reason !== undefined) throw problem('pipeline-unreadable', { path, versionName, reason });
  }
  const known = [
    ...pipelines.map(renderPipelinePath),
    ...(row.known_paths ?? []),
    ...ignored.map(({ path }) => path),
  ];
  // Without extensions: those that are equal would make short names look alike.
  const bareName = removeExtension(named);
  const bare = nearestName(bareName, known.map(removeExtension));
  const sameStem = bare === undefined ? undefined : known.find((path) => removeExtension(path) === bare);
  const nearest = sameStem ?? (bareName === named ? nearestName(named, known) : undefined);
  throw problem('pipeline-not-found', { name: named, versionName, isNewest, nearest });
}

const removeExtension = (path: string) => path.replace(/\.(?:orch|tran)\.yaml$/, '');

type Given = Pick<StartRequest, 'scalarVariables' | 'gridVariables'>;
type KnownVariables = ReadonlyMap<string, VariableType>;

/**
 * A request may set the public variables of the pipeline and the variables of the project. Throws
 * `unknown-pipeline-variable` and `pipeline-variable-type`.
 */
function requireVariables(
  { scalarVariables: scalars, gridVariables: grids }: Given,
  at: string,
  pipeline: PipelineDescription,
  project: KnownVariables,
): void {
  const typeOf = (name: string): VariableType | undefined => {
    const declared = pipeline.variables.find((variable) => variable.name === name);
    if (declared !== undefined) return declared.visibility === 'PUBLIC' ? declared.type : undefined;
    return project.get(name);
  };
  const publicNames = pipeline.variables
    .filter(({ visibility }) => visibility === 'PUBLIC')
    .map(({ name }) => name);
  function requireVariable(field: string, name: string, fits: (type: VariableType) => boolean): void {
    const type = typeOf(name);
    if (type === undefined) {
      const nearest = nearestName(name, publicNames);
      throw problem('unknown-pipeline-variable', { field, name, nearest });
    }
    if (!fits(type)) throw problem('pipeline-variable-type', { field, name, type });
  }
  for (const [name, value] of Object.entries(scalars ?? {})) {
    const isNumber =
      typeof value === 'number' ||
      (typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value)));
    requireVariable(
      `${at}.scalarVariables`,
      name,
      (type) => type === 'TEXT' || (type === 'NUMBER' && isNumber),
    );
  }
  for (const name of Object.keys(grids ?? {})) {
    requireVariable(`${at}.gridVariables`, name, (type) => type === 'GRID');
  }
}
