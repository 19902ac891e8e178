/**
 * Every limit of the pipeline format and of a run. Pipelines are untrusted input, so each part has a limit.
 */

/** Bytes of one pipeline file. */
export const fileBytesLimit = 1_048_576;
export const componentLimit = 2_000;
/** Characters of a component's name, and of its type. */
export const componentNameLimit = 255;
/** Variables declared by one pipeline. */
export const variableLimit = 1_000;
/** Milliseconds for reading one file. */
export const fileMillisecondsLimit = 10_000;
/** Findings, and references to other files, kept for one pipeline in a project check. The rest is counted. */
export const noteLimit = 5_000;
/** Characters of a finding's message. */
export const findingMessageLimit = 1_000;
/** Characters of a name or path to look up in other files. */
export const referenceLimit = 1_024;
/** Calls of one pipeline that are tested for being made in every run. Further calls count as conditional. */
export const certainCallLimit = 50;
/** Cycles of calls reported for one project. */
export const callCycleLimit = 20;
/** Nesting of maps and lists in one file. */
export const nestingLimit = 50;
/** Anchors, and uses of them, in one file. */
export const aliasLimit = 100;
/** Values of one file, with aliases expanded. */
export const valueLimit = 200_000;
/** Depth of calls in one run, including the root pipeline. */
export const pipelineDepthLimit = 50;
/** Characters of the prefix that names a group of shared pipelines. */
export const sharedPrefixLimit = 100;
/** Characters of a version's name. */
export const versionNameLimit = 255;
/** Versions of shared pipelines that one pipeline may name; one execution may use the same number. */
export const sharedUseLimit = 100;
/** Characters of a pipeline's description, which is made from its notes. */
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
/** Characters of an expression's result, and of all resolved parameters of one component. */
export const expressionResultLimit = 4 * 1_048_576;
/** Secret references named by one expression. */
export const secretUseLimit = 100;
/** Rows of a grid variable. */
export const variableRowLimit = 10_000;
/** Characters of a regular expression. */
export const patternLengthLimit = 1_000;
/** Steps of a regular expression after its counts in braces are written out. Each takes time at each character. */
export const patternSizeLimit = 10_000;
