/** Test executions in the agent protocol: the payload of the work, and the results of its tests. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { oneOf, Uuid } from '../primitives.ts';
import { testTextLimit } from './protocol-constants.ts';
import { runMembers } from './run-members.ts';

/** Tests of one execution. */
export const testExecutionLimit = 1_000;

const testStatuses = ['PASSED', 'FAILED', 'ERRORED', 'CANCELLED'] as const;
export const TestStatus = named('TestStatus', oneOf(testStatuses));
export type TestStatus = Static<typeof TestStatus>;

export const TestExecutionWork = Type.Object({
  testExecutionId: Uuid,
  ...runMembers,
  tests: Type.Array(Type.Object({ testName: Type.String({ minLength: 1, maxLength: 1_024 }) }), {
    minItems: 1,
    maxItems: testExecutionLimit,
  }),
});
/** The tests that an agent runs, in this order. */
export type TestExecutionWork = Static<typeof TestExecutionWork>;

const TestText = Type.Optional(Type.String({ maxLength: testTextLimit }));
export const TestResult = Type.Object({
  index: Type.Integer({
    minimum: 0,
    maximum: testExecutionLimit - 1,
    description: 'The position of the test in the work, from 0',
  }),
  status: TestStatus,
  message: TestText,
  expected: TestText,
  actual: TestText,
  durationMs: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});
export type TestResult = Static<typeof TestResult>;
