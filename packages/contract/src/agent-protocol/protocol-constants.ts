/** Numbers and words of the agent protocol. They are apart from the schemas, which an agent does not load. */

export const agentProtocolVersion = 1;

/**
 * What an instance may be able to do beside kinds of work: `restart`, obeying the command;
 * `restarted-execution`, continuing an execution by its plan. Others would run it from its start.
 */
export const instanceAbilities = ['restart', 'restarted-execution', 'environment-generations'] as const;
/** The exit code of an agent that obeys `restart` (EX_TEMPFAIL of sysexits.h): start it again. */
export const restartExitCode = 75;

/** All other kinds are short work: a request waits for it. It has places of its own. */
export const runKinds: readonly string[] = ['pipeline-execution', 'test-execution'];

/** Works of one sort in one claim, its longest wait, and reports in one call. */
export const claimLimit = 100;
export const claimWaitLimitSeconds = 25;
export const reportLimit = 200;

/** Characters of the SQL of one step. */
export const stepSqlLimit = 10_000;
/** Lines of the log in one report. */
export const reportedLinesLimit = 1_000;
/** Characters of each text of a test's result. */
export const testTextLimit = 4_000;

/** Characters of a line of the log. A longer one is cut, and its end says so. */
export const logLineLimit = 10_000;
/** Lines and bytes of one run. Further output is dropped, and one more line says so. */
export const logLinesLimit = 100_000;
export const logBytesLimit = 10 * 1_048_576;

/** Variables of one pipeline that are recorded, and the characters of all their values. */
export const runVariablesLimit = 2_000;
export const runValuesLimit = 300_000;
/** Characters of a recorded text, and rows of a recorded grid. */
export const runTextLimit = 10_000;
export const runGridRowsLimit = 100;
/** Characters of a recorded grid as JSON. */
export const runGridLimit = 20_000;

/** Characters of the values of one step as JSON, and of those of a whole run. */
export const stepValuesLimit = 500_000;
export const runStepValuesLimit = 10 * 1_048_576;

/** Datasets read, and datasets written, by one step; columns, and inputs of columns, in one step. */
export const lineageDatasetsLimit = 200;
export const lineageColumnsLimit = 2_000;
export const lineageColumnInputsLimit = 20_000;
/** Characters of a name or type in lineage, and reasons why something is missing in that of one step. */
export const lineageTextLimit = 1_000;
export const lineageGapsLimit = 100;
/** Steps with lineage in one report. */
export const reportedLineageLimit = 100;

/** Characters of the result of a connector's test, as JSON text. */
export const connectorTestLimit = 262_144;

/** Projects in one request for deleted environments. */
export const askedProjectLimit = 100;
