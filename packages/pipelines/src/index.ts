export * from './bounds.ts';
export { type Branches, createBranches } from './branches.ts';
export {
  type CheckedArtifact,
  checkRun,
  describeFinding,
  listCandidatePaths,
  type RunCheck,
} from './check-run.ts';
export { type ComponentEnd, listTargets } from './component-end.ts';
export type {
  Action,
  AssertionCheck,
  AssertionFault,
  CallArguments,
  FileSearch,
  FoundFile,
  Iteration,
  IterationMode,
  PlannedScript,
  QueryResult,
  ScriptLanguage,
} from './components/component.ts';
export { mayHaveEffect, runsOthers } from './components/effects.ts';
export { indexOfColumn } from './components/query-result.ts';
export {
  findDefinition,
  listComponentTypes,
  type OrchestrationType,
  type TransformationType,
  UnknownComponentTypeError,
} from './components/registry.ts';
export {
  addColumn,
  alterType,
  convertColumn,
  describeMisfit,
  type ExistingColumn,
  findChangedRow,
  findMisfits,
  listConversions,
  type MatchedColumn,
  matchColumns,
} from './connectors/column-change.ts';
export { type Authentication, type ConnectionValue, chooseAuthentication } from './connectors/connection.ts';
export { compareDecimals, isDecimal } from './connectors/decimal-text.ts';
export {
  type EndpointLoad,
  type EndpointSource,
  type GatheredRows,
  type Incremental,
  pageColumn,
} from './connectors/endpoint-load.ts';
export {
  createEndpointRequest,
  type EndpointRequest,
  type EndpointValues,
} from './connectors/endpoint-request.ts';
export { writeExactly } from './connectors/exact-texts.ts';
export { isHeaderValue } from './connectors/header.ts';
export { hasLongNumbers, isRawNumber, parseJson, readScalarText } from './connectors/json-text.ts';
export {
  describeChildTable,
  describeMainTable,
  keepRows,
  type LoadTable,
  listLoadTargets,
} from './connectors/load-rows.ts';
export {
  createLoadTable,
  createMarkTable,
  fillTable,
  lockTable,
  readMark,
  writeMark,
} from './connectors/load-statements.ts';
export {
  nextPage,
  type PageRequest,
  type PageResponse,
  type PagingState,
  startPaging,
} from './connectors/paging.ts';
export {
  type AuthenticationType,
  authenticationTypes,
  type ConnectorEndpoint,
  ConnectorError,
  type ConnectorProfile,
  type ConnectorStructure,
  connectorMethods,
  type JsonSchema,
  PermanentFault,
  type ProfileFinding,
  pagingTypes,
  type RateLimit,
} from './connectors/profile.ts';
export { connectorProfileName, connectorProfilePath } from './connectors/profile-file.ts';
export type { JsonMap } from './connectors/profile-reader.ts';
export { describeProfileFinding, readProfile, readProfileText } from './connectors/read-profile.ts';
export { createRowCheck } from './connectors/row-check.ts';
export { type PageRows, readPageRows, rowsOf } from './connectors/rows.ts';
export { getRowSchema, inferStructure } from './connectors/schema.ts';
export { shortenValue } from './connectors/shortened-value.ts';
export { renderComponentPages } from './documentation/component-page.ts';
export { createPipelineSchema } from './documentation/json-schema.ts';
export {
  createExpressionEngine,
  type ExpressionBounds,
  type ExpressionEngine,
  ExpressionError,
  type ExpressionValue,
} from './expressions.ts';
export { type Finding, type FindingCode, findingCodes, type Unreadable } from './finding.ts';
export { createWalk, sortTopologically, type Walk, type WalkOutcome } from './graph.ts';
export { compilePattern } from './linear-pattern.ts';
export { linkProject, listAskedSecrets, listAskedVariables } from './link.ts';
export { findNamedEndpoint, outlineProfile, type ProfileOutline } from './link-endpoints.ts';
export { planComponent } from './orchestration-plan.ts';
export {
  measureNote,
  type OutlineResult,
  outlineFile,
  type PipelineOutline,
  readPipelineFile,
} from './outline.ts';
export { ParameterError } from './parameters.ts';
export { describeSyntaxError, type ParseResult, type PipelineSyntaxError, parsePipeline } from './parse.ts';
export {
  type Attempts,
  type Orchestration,
  type OrchestrationComponent,
  type Pipeline,
  type PipelineType,
  type Plain,
  type PlainMap,
  pipelineExtensions,
  pipelineNameOf,
  pipelinePath,
  pipelineTypeOf,
  type Transformation,
  type TransformationComponent,
  type VariableDeclaration,
} from './pipeline.ts';
export type { PlacedExpression } from './pipeline-expressions.ts';
export {
  compileQuickJs,
  createQuickJsLender,
  type QuickJsInstance,
  type QuickJsSource,
} from './quickjs-module.ts';
export {
  type Evaluation,
  evaluateExpression,
  interpolate,
  type Resolved,
  readWithDefaults,
  resolveDefaults,
  resolveParameters,
} from './resolve.ts';
export { resolveScript } from './script-text.ts';
export { findSecretNames, findSecretOfDefault, type SecretSource } from './secret-calls.ts';
export {
  listSharedPipelineUses,
  readSharedPipelineUse,
  type SharedPipelineUse,
} from './shared-pipeline-use.ts';
export {
  type Conversion,
  type Dialect,
  type PreparedStatement,
  type RewrittenStatement,
  SqlError,
  type StatementList,
  type TableReference,
  type ValueFit,
} from './sql/dialect.ts';
export { createDuckdb, duckdb } from './sql/duckdb.ts';
export { environmentDefaults } from './sql/environment-defaults.ts';
export {
  countedRows,
  countRepeated,
  type DeclaredKey,
  keyedColumns,
  readKeys,
} from './sql/keys.ts';
export { createPostgres } from './sql/postgres.ts';
export { convertOperands } from './sql/rewrite/convert-operands.ts';
export { rowCountsRelation } from './sql/rewrite/information-schema.ts';
export type { SqlRules } from './sql/rewrite/names.ts';
export { decodeNames, defaultDatabase, defaultSchema, type NameMapping } from './sql/rewrite/names.ts';
export { createUserSql, type SqlRewriter, sqlRewriter } from './sql/rewrite/rewriter.ts';
export {
  type LexicalRules,
  lexicalRules,
  type SqlKind,
  type Token,
  TokenReader,
  tokenize,
  UnterminatedError,
} from './sql/rewrite/tokens.ts';
export { shorten, TemplateError } from './template.ts';
export { type PlannedOutput, planTransformation, type TransformationPlan } from './transformation-plan.ts';
export { trimBoth, trimEnd } from './trims.ts';
export {
  createDeclaredVariable,
  createProjectVariable,
  createScope,
  describeMissingVariable,
  type Grid,
  isGrid,
  readGrid,
  type Scalar,
  setArguments,
  setDefault,
  type Variable,
  VariableError,
  type VariableScope,
  type VariableValue,
} from './variables.ts';
