/** Every limit of the format and of a run, in one place: what tenants write is data, and data has bounds. */

/** Bytes of one pipeline file. */
export const fileBytesLimit = 1_048_576;
export const componentLimit = 2_000;
/** Characters of a component's name, and of its type. */
export const componentNameLimit = 255;
/** Variables that one pipeline declares. */
export const variableLimit = 1_000;
/** Milliseconds that reading one file may take. */
export const fileMillisecondsLimit = 10_000;
/**
 * Findings, and references to other files, that are kept of one pipeline when a project is checked; the rest
 * is counted.
 */
export const noteLimit = 5_000;
/** Characters of a finding's message. */
export const findingMessageLimit = 1_000;
/** Characters of a name or path that is looked up in other files. */
export const referenceLimit = 1_024;
/**
 * Calls of one pipeline of which it is decided whether they are certainly made; of more it is not assumed.
 */
export const certainCallLimit = 50;
/** Circles of calls that are told of one project. */
export const callCycleLimit = 20;
/** Maps and lists inside one another in one file. */
export const nestingLimit = 50;
/** Anchors, and uses of them, in one file. */
export const aliasLimit = 100;
/** Values of one file once its aliases are followed. */
export const valueLimit = 200_000;
/** Pipelines inside one another in one run, the root counted. */
export const pipelineDepthLimit = 50;
/** Characters of the prefix that names a group of shared pipelines. */
export const sharedPrefixLimit = 100;
/** Characters of a version's name. */
export const versionNameLimit = 255;
/** Versions of shared pipelines that one pipeline may name: as many as one execution may use. */
export const sharedUseLimit = 100;
/** Characters of what is told of a pipeline by its notes. */
export const descriptionLimit = 1_000;
/** Iterations of one iterator. */
export const iterationLimit = 10_000;
/** Components of one pipeline, or iterations of one concurrent iterator, that run at the same time. */
export const concurrencyLimit = 10;
/** Steps of one run. */
export const stepLimit = 50_000;
export const expressionMillisecondsLimit = 1_000;
export const expressionBytesLimit = 32 * 1_048_576;
/** Characters of one expression's source. */
export const expressionSourceLimit = 65_536;
/** Characters that an expression may yield, and that one component's parameters may grow to. */
export const expressionResultLimit = 4 * 1_048_576;
/** Secret references that one expression may name. */
export const secretUseLimit = 100;
/** Rows that a query may put into a variable, and that a grid may hold. */
export const variableRowLimit = 10_000;
