/**
 * What a restart of an execution needs: what each step records for it, and the plan with which an agent continues.
 *
 * - **end**: the end of a step. The ends of a run are numbered from 1, over all its pipelines.
 * - **kept**: not run again, because it ended before the place from which the run continues.
 * - **open**: a component that was under way: an iterator with kept iterations, or the call of a pipeline that
 *   continues, too.
 */
import { type Static, Type } from 'typebox';
import { Name, oneOf, Uuid } from '../primitives.ts';
import { runVariablesLimit, stepValuesLimit } from './protocol-constants.ts';
import { RunVariable } from './run-variables.ts';

/** Iterations of an iterator. */
const iterationsLimit = 10_000;
const componentsLimit = 2_000;

export const lostValueReasons = ['secret', 'size', 'text', 'branch'] as const;

/** A scalar, or the rows of a grid. */
const CarriedValue = Type.Union([
  Type.String({ maxLength: stepValuesLimit }),
  Type.Number(),
  Type.Null(),
  Type.Array(
    Type.Array(Type.Union([Type.String({ maxLength: stepValuesLimit }), Type.Number(), Type.Null()]), {
      maxItems: 1_000,
    }),
    { maxItems: 10_000 },
  ),
]);

export const CarriedVariable = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  value: Type.Optional(CarriedValue),
  lost: Type.Optional(
    oneOf(lostValueReasons, {
      description:
        'Why there is no `value`. secret: it contains a secret of the run. size: it is too large. text: it has characters that cannot be stored. branch: it is one of several copies',
    }),
  ),
});
/** The value of a variable at a place of a run. */
export type CarriedVariable = Static<typeof CarriedVariable>;

const IterationKey = Type.String({
  minLength: 32,
  maxLength: 32,
  description: 'A digest of the values of the iteration',
});

export const StepRecord = Type.Object({
  began: Type.Integer({ minimum: 0, description: 'How many ends the run had when the step began' }),
  ended: Type.Optional(Type.Integer({ minimum: 1, description: 'Which end it is; absent while it runs' })),
  parent: Type.Optional({ ...Uuid, description: 'The step of the iterator or retry that runs it' }),
  iteration: Type.Optional(IterationKey),
  next: Type.Optional(
    Type.Array(Name, { maxItems: componentsLimit, description: 'The components to which its end leads' }),
  ),
  branch: Type.Optional(Type.Boolean({ description: 'The result of an if' })),
  effect: Type.Optional(
    Type.Boolean({ description: 'True if it may have changed something besides variables' }),
  ),
  kept: Type.Optional(
    Type.Boolean({ description: 'True if it did not run, because it ended in the restarted execution' }),
  ),
  variables: Type.Optional(
    Type.Array(CarriedVariable, {
      maxItems: runVariablesLimit,
      description: 'The variables whose values changed since the end before',
    }),
  ),
});
/** What a restart needs to know of a step. */
export type StepRecord = Static<typeof StepRecord>;

export const componentEnds = ['SUCCESS', 'FAILED', 'SKIPPED', 'TRUE', 'FALSE'] as const;

const resumed = {
  run: Type.Optional(Type.Integer({ minimum: 1, description: 'The index in `runs` of the called pipeline' })),
  iterations: Type.Optional(
    Type.Array(IterationKey, { maxItems: iterationsLimit, description: 'The kept ones' }),
  ),
};
const OpenComponent = Type.Object({
  component: Name,
  ...resumed,
  partial: Type.Optional(
    Type.Array(Type.Object({ iteration: IterationKey, ...resumed }), {
      maxItems: iterationsLimit,
      description: 'Iterations that were under way',
    }),
  ),
});
export type OpenComponent = Static<typeof OpenComponent>;

const RestartedRun = Type.Object({
  variables: Type.Array(CarriedVariable, { maxItems: runVariablesLimit }),
  kept: Type.Array(
    Type.Object({
      component: Name,
      end: oneOf(componentEnds),
      next: Type.Array(Name, { maxItems: componentsLimit }),
    }),
    { maxItems: componentsLimit },
  ),
  open: Type.Array(OpenComponent, { maxItems: componentsLimit }),
});
export type RestartedRun = Static<typeof RestartedRun>;

export const RestartPlan = Type.Object({
  restartOf: Uuid,
  projectVariables: Type.Array(RunVariable, {
    maxItems: runVariablesLimit,
    description: 'As they were recorded when the restarted execution began',
  }),
  runs: Type.Array(RestartedRun, {
    minItems: 1,
    maxItems: 50_000,
    description: 'The first is that of the started pipeline',
  }),
  repeats: Type.Optional(
    Type.Array(Name, {
      maxItems: 50_000,
      description:
        'The components that run again although they may have had an effect: the caller accepted them',
    }),
  ),
});
/** How an agent continues an execution from where another one ended. */
export type RestartPlan = Static<typeof RestartPlan>;
