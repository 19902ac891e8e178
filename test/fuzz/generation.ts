/** Generates requests that are valid by the document, or changed in some way. */
import fc from 'fast-check';
import { type Described, operations } from './document.ts';
import { type Caller, callers, type Draft, type Parts } from './draft.ts';
import { mutate, mutation } from './mutation.ts';
import { parameterValue, valueFor } from './valid.ts';

/** Tried less often, because their success deletes the world. */
export const rare: readonly string[] = ['deleteProject', 'deleteEnvironment', 'deleteCredential'];

const caller: fc.Arbitrary<Caller> = fc.oneof(
  { weight: 20, arbitrary: fc.constant('admin' as const) },
  { weight: 4, arbitrary: fc.constantFrom(...callers) },
);

const smallPipeline = `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions: { unconditional: ["End"] }
      skipped: false
      parameters: { componentName: "Start" }
    End:
      type: "end-success"
      skipped: false
      parameters: { componentName: "End" }
  variables: {}
design:
  components: {}
`;

// Built once, because building an arbitrary takes far longer than generating a value.
const parts: fc.Arbitrary<Parts> = fc.oneof(
  ...operations.map((operation) => ({
    weight: rare.includes(operation.id) ? 1 : 20,
    arbitrary: partsOf(operation),
  })),
);

function partsOf(operation: Described): fc.Arbitrary<Parts> {
  return fc.record({
    operation: fc.constant(operation),
    caller,
    path: parametersIn(operation, 'path').map(Object.fromEntries),
    query: parametersIn(operation, 'query'),
    headers: parametersIn(operation, 'header').map(Object.fromEntries),
    body: operation.mediaType === 'multipart/form-data' ? files() : valueOfBody(operation),
  });
}

export const draft: fc.Arbitrary<Draft> = changed(parts);

/** A request to this operation. */
export function draftOf(operation: Described): fc.Arbitrary<Draft> {
  return changed(partsOf(operation));
}

function changed(fitting: fc.Arbitrary<Parts>): fc.Arbitrary<Draft> {
  const mutations = fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 5, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
  );
  return fc.tuple(fitting, mutations).map(([one, some]) => mutate(one, some));
}

function valueOfBody({ body }: Described): fc.Arbitrary<unknown> {
  return body === undefined ? fc.constant(undefined) : valueFor(body, '');
}

function parametersIn(
  described: Described,
  place: 'path' | 'query' | 'header',
): fc.Arbitrary<[string, string][]> {
  const each = described.parameters
    .filter((parameter) => parameter.in === place)
    .map((parameter) => {
      const { name, required } = parameter;
      const one = parameterValue(parameter, described.id).map((value): [string, string][] => [[name, value]]);
      return required
        ? one
        : fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: one });
    });
  return fc.tuple(...each).map((found) => found.flat());
}

/** The parts of an upload. */
function files() {
  const names = ['main.orch.yaml', 'a/b.sql', '../x', '/x', 'a//b', 'x.tran.yaml', 'ü.py', 'u\u0308.py', ''];
  const contents = [smallPipeline, 'type: transformation', '{', '', '\0', '&a [*a]'];
  const file = fc.record({
    name: fc.oneof(fc.constantFrom(...names), fc.stringMatching(/^[\w./ -]{1,40}$/)),
    content: fc.oneof(fc.constantFrom(...contents), fc.string()),
  });
  return fc.array(file, { maxLength: 4 });
}
