export {
  type CheckedArtifact,
  checkRun,
  describeFinding,
  listCandidatePaths,
  type RunCheck,
} from './check/check-run.ts';
export { linkProject, listAskedSecrets, listAskedVariables } from './check/link.ts';
export { findNamedEndpoint, outlineProfile, type ProfileOutline } from './check/link-endpoints.ts';
export {
  measureNote,
  type OutlineResult,
  outlineFile,
  type PipelineOutline,
  readPipelineFile,
} from './check/outline.ts';
export type { PlacedExpression } from './check/pipeline-expressions.ts';
export type {
  Action,
  AssertionCheck,
  AssertionFault,
  CallArguments,
  ConvertedFile,
  FileSearch,
  FoundFile,
  Iteration,
  IterationMode,
  PlannedScript,
  QueryResult,
  ScriptLanguage,
} from './components/definition/component.ts';
export { indexOfColumn } from './components/definition/query-result.ts';
export {
  listSharedPipelineUses,
  readSharedPipelineUse,
  type SharedPipelineUse,
} from './components/definition/shared-pipeline-use.ts';
export { isFileAddress } from './components/file-format.ts';
export {
  findDefinition,
  listComponentTypes,
  type OrchestrationType,
  type TransformationType,
  UnknownComponentTypeError,
} from './components/registry.ts';
export { type Authentication, type ConnectionValue, chooseAuthentication } from './connectors/connection.ts';
export { compareDecimals, isDecimal } from './connectors/decimal-text.ts';
export {
  createEndpointRequest,
  type EndpointRequest,
  type EndpointValues,
} from './connectors/endpoint-request.ts';
export { isHeaderValue } from './connectors/header.ts';
export { hasLongNumbers, isRawNumber, parseJson, readScalarText } from './connectors/json-text.ts';
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
} from './connectors/load/column-change.ts';
export {
  type EndpointLoad,
  type EndpointSource,
  type GatheredRows,
  type Incremental,
  pageColumn,
} from './connectors/load/endpoint-load.ts';
export { writeExactly } from './connectors/load/exact-texts.ts';
export {
  describeChildTable,
  describeMainTable,
  keepRows,
  type LoadTable,
  listLoadTargets,
} from './connectors/load/load-rows.ts';
export {
  createLoadTable,
  createMarkTable,
  fillTable,
  readMark,
  writeMark,
} from './connectors/load/load-statements.ts';
export { createRowCheck } from './connectors/load/row-check.ts';
export { shortenValue } from './connectors/load/shortened-value.ts';
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
export { type PageRows, readPageRows, rowsOf } from './connectors/rows.ts';
export { getRowSchema, inferStructure } from './connectors/schema.ts';
export { renderComponentPages } from './documentation/component-page.ts';
export { createPipelineSchema } from './documentation/json-schema.ts';
export { renderRulePages } from './documentation/rule-page.ts';
export {
  createExpressionEngine,
  type ExpressionBounds,
  type ExpressionEngine,
  ExpressionError,
  type ExpressionValue,
} from './expressions/expressions.ts';
export { compilePattern } from './expressions/linear-pattern.ts';
export { ParameterError } from './expressions/parameters.ts';
export {
  compileQuickJs,
  createQuickJsLender,
  type QuickJsInstance,
  type QuickJsSource,
} from './expressions/quickjs-module.ts';
export {
  type Evaluation,
  evaluateExpression,
  interpolate,
  type Resolved,
  readWithDefaults,
  resolveDefaults,
  resolveParameters,
} from './expressions/resolve.ts';
export { findSecretNames, findSecretOfDefault, type SecretSource } from './expressions/secret-calls.ts';
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
} from './expressions/variables.ts';
export * from './format/bounds.ts';
export { type ComponentEnd, listTargets } from './format/component-end.ts';
export {
  describeSyntaxError,
  type ParseResult,
  type PipelineSyntaxError,
  parsePipeline,
} from './format/parse.ts';
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
} from './format/pipeline.ts';
export { shorten, TemplateError } from './format/template.ts';
export { trimBoth, trimEnd } from './format/trims.ts';
export { datasetNames } from './lineage/naming/dataset-name.ts';
export { type Branches, createBranches } from './plan/branches.ts';
export { mayHaveEffect, runsOthers } from './plan/effects.ts';
export { createWalk, sortTopologically, type Walk, type WalkOutcome } from './plan/graph.ts';
export { planComponent } from './plan/orchestration-plan.ts';
export { resolveScript } from './plan/script-text.ts';
export {
  type PlannedOutput,
  planTransformation,
  type TransformationPlan,
} from './plan/transformation-plan.ts';
export { rules } from './rules/builtin/registry.ts';
export type { RuleFinding } from './rules/builtin/rule.ts';
export type { PipelineFacts, ServerFacts } from './rules/facts/pipeline-facts.ts';
export { findSecretSpans, isSecretName, type SecretSpan } from './rules/facts/secret-forms.ts';
export {
  createUnreadableReview,
  type FileReview,
  reviewFile,
  reviewProject,
  rulesFileRule,
} from './rules/review.ts';
export {
  type RulesFault,
  type RulesFile,
  readRuleSettings,
  renderRulesFile,
  rulesFileBytesLimit,
  rulesFilePaths,
} from './rules/rule-settings.ts';
export { convertOperands, findErrorPosition } from './sql/convert-operands.ts';
export {
  type Conversion,
  type CopiedCsv,
  type CopyDialect,
  csvLineLimit,
  type Dialect,
  type FileColumn,
  type FileFormat,
  type PreparedStatement,
  type RejectTables,
  type RewrittenStatement,
  SqlError,
  type StatementList,
  type TableReference,
  type ValueFit,
} from './sql/dialect/dialect.ts';
export {
  countedRows,
  countRepeated,
  type DeclaredKey,
  keyedColumns,
  readKeys,
} from './sql/dialect/keys.ts';
export { createDuckdb, duckdb } from './sql/duckdb.ts';
export { environmentDefaults } from './sql/environment-defaults.ts';
export { createPostgres } from './sql/postgres.ts';
export { createRedshift } from './sql/redshift.ts';
export { rowCountsRelation } from './sql/rewrite/information-schema.ts';
export { createUserSql, type SqlRewriter, sqlRewriter } from './sql/rewriter.ts';
export { createSnowflake } from './sql/snowflake.ts';
export type { SqlRules } from './sql/tokens/names.ts';
export {
  decodeNames,
  defaultDatabase,
  defaultSchema,
  isDefaultName,
  type NameMapping,
} from './sql/tokens/names.ts';
export {
  type LexicalRules,
  lexicalRules,
  type SqlKind,
  type Token,
  TokenReader,
  tokenize,
  UnterminatedError,
} from './sql/tokens/tokens.ts';
export type { CellRange, Converted, ConvertedColumn, FileConversion } from './stores/conversion.ts';
export {
  cellLimit,
  type ExternalTable,
  fillExternalTable,
  nameCells,
} from './stores/external-tables.ts';
export type {
  FileSource,
  JsonRecords,
  ObjectLoad,
  ObjectReading,
  ObjectSource,
  OnError,
  TargetColumn,
} from './stores/object-load.ts';
export {
  createLoadedObjects,
  type FileLoad,
  forgetLoadedObjects,
  noteLoadedObjects,
  planFileLoad,
  readLoadedObjects,
} from './stores/object-statements.ts';
export {
  cloudOf,
  isStoreAddress,
  nameObject,
  nameStore,
  nameStoreInLineage,
  type SftpAddress,
  type StoreAddress,
  type StoreCredentials,
  type StorePlace,
} from './stores/store-address.ts';
export { credentialsMark, snowflakeCredentialsMark } from './stores/warehouse-stores.ts';
export { type Finding, type FindingCode, findingCodes, type Unreadable } from './validate/finding.ts';
