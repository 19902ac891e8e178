/** The JSON Schemas of pipeline files for editors (JSON Schema 2020-12). They are written from the definitions. */

import type { ParameterDeclaration } from '../components/definition/declared-parameters.ts';
import { findDefinition, listComponentTypes } from '../components/registry.ts';
import { retriesLimit, retryDelayLimit, timeoutLimit } from '../format/attempts.ts';
import { type PipelineType, transitionKinds } from '../format/pipeline.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A text with an expression is known only during the run. */
const expression: Schema = { type: 'string', pattern: String.raw`\$\{` };
const scalar: Schema = { type: ['string', 'number', 'boolean', 'null'] };
const fromGrid: Schema = {
  type: 'object',
  required: ['fromGrid'],
  properties: {
    fromGrid: {
      type: 'object',
      required: ['variable', 'columns'],
      properties: { variable: { type: 'string' }, columns: { type: 'array', items: scalar } },
    },
  },
};
const attempts: Schema = {
  retries: {
    description: 'How often the component is run again if it fails.',
    anyOf: [
      { type: 'integer', minimum: 0, maximum: retriesLimit },
      { type: 'string', pattern: String.raw`^\s*\d+\s*$` },
      { type: 'null' },
    ],
  },
  retryDelay: {
    description: 'Seconds before each retry.',
    anyOf: [
      { type: 'number', minimum: 0, maximum: retryDelayLimit },
      { type: 'string', pattern: String.raw`^\s*\d+(?:\.\d+)?\s*$` },
      { type: 'null' },
    ],
  },
  timeout: {
    description: 'Seconds that one attempt may take.',
    anyOf: [
      { type: 'integer', minimum: 1, maximum: timeoutLimit },
      { type: 'string', pattern: String.raw`^\s*\d+\s*$` },
      { type: 'null' },
    ],
  },
};
const nameList: Schema = { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] };

export function createPipelineSchema(kind: PipelineType): Schema {
  const types = listComponentTypes(kind);
  const aliases = types.flatMap((type) => findDefinition(type)?.aliases ?? []);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `Headgate ${kind}`,
    type: 'object',
    required: ['type', 'pipeline'],
    properties: {
      type: { const: kind },
      version: { enum: ['1.0', 1, 1.0] },
      pipeline: {
        type: 'object',
        properties: {
          components: {
            anyOf: [
              { type: 'null' },
              { type: 'object', additionalProperties: { $ref: '#/$defs/component' } },
            ],
          },
          variables: {
            anyOf: [{ type: 'null' }, { type: 'object', additionalProperties: { $ref: '#/$defs/variable' } }],
          },
        },
      },
      design: { type: 'object' },
    },
    $defs: {
      component: {
        type: 'object',
        required: ['type'],
        properties: { type: createTypeSchema(types, aliases), ...members[kind], ...attempts },
        allOf: types.map(createConditionalSchema),
      },
      variable,
    },
  };
}

const members: Readonly<Record<PipelineType, Schema>> = {
  orchestration: {
    parameters: { type: 'object' },
    skipped: { type: ['boolean', 'string', 'null'] },
    iterationTarget: nameList,
    transitions: {
      anyOf: [
        { type: 'null' },
        {
          type: 'object',
          properties: Object.fromEntries(transitionKinds.map((kind) => [kind, nameList])),
          additionalProperties: false,
        },
      ],
    },
    postProcessing: {
      type: ['object', 'null'],
      properties: {
        updateScalarVariables: { type: ['array', 'null'] },
        updateGridVariables: { type: ['array', 'null'] },
        updateOutputMessage: { type: ['string', 'null'] },
      },
    },
  },
  transformation: { parameters: { type: 'object' }, sources: nameList },
};

const variable: Schema = {
  type: 'object',
  required: ['metadata'],
  properties: {
    metadata: {
      type: 'object',
      required: ['type'],
      properties: {
        type: { enum: ['TEXT', 'NUMBER', 'GRID'] },
        description: { type: ['string', 'null'] },
        scope: { enum: ['COPIED', 'SHARED'] },
        visibility: { enum: ['PUBLIC', 'PRIVATE'] },
        columns: { type: ['object', 'null'] },
      },
    },
    defaultValue: {},
  },
};

function createTypeSchema(types: readonly string[], aliases: readonly string[]): Schema {
  const known = types.map((type) => ({ const: type, description: findDefinition(type)?.about }));
  const names = [...types, ...aliases].join('|');
  return {
    type: 'string',
    anyOf: [...known, { enum: aliases }, { pattern: `^(?:${names})(?:-(?:v?\\d+|sf|dl|rs|db|bq))+$` }].filter(
      (each) => !('enum' in each && each.enum.length === 0),
    ),
  };
}

function createConditionalSchema(type: string): Schema {
  const definition = findDefinition(type);
  const table = definition?.parameters ?? {};
  const required = Object.entries(table).flatMap(([name, declaration]) =>
    declaration.required === true ? [{ name, names: [name, ...(declaration.otherNames ?? [])] }] : [],
  );
  return {
    if: { properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      properties: {
        parameters: {
          properties: Object.fromEntries(
            Object.entries(table).flatMap(([name, declaration]) =>
              [name, ...(declaration.otherNames ?? [])].map((each) => [each, createValueSchema(declaration)]),
            ),
          ),
          ...(required.length === 0
            ? {}
            : {
                allOf: required.map(({ names }) => ({ anyOf: names.map((each) => ({ required: [each] })) })),
              }),
        },
      },
      ...(required.length === 0 ? {} : { required: ['parameters'] }),
    },
  };
}

function createValueSchema(declaration: ParameterDeclaration): Schema {
  return { description: declaration.about, anyOf: [...listForms(declaration), expression, { type: 'null' }] };
}

function listForms({ kind, words = [] }: ParameterDeclaration): Schema[] {
  const empty = { const: '' };
  switch (kind) {
    case 'number':
      return [
        { type: 'number' },
        { type: 'string', pattern: String.raw`^\s*(?:[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*)?$` },
      ];
    case 'yes-no':
      return [
        { enum: ['Yes', 'No'] },
        { type: 'boolean' },
        matchWords(['yes', 'no', 'true', 'false']),
        empty,
      ];
    case 'choice':
      return [{ enum: words }, matchWords([...words, '[Custom]', '[Environment Default]']), empty];
    case 'names':
    case 'rows':
      return [{ type: 'array' }, fromGrid, empty];
    case 'map':
      return [{ type: 'object' }, { type: 'array' }];
    default:
      return [scalar];
  }
}

/** The words in any case. JSON Schema has no flag for it. */
function matchWords(words: readonly string[]): Schema {
  const each = words.map((word) =>
    [...word]
      .map((letter) => {
        const [lower, upper] = [letter.toLowerCase(), letter.toUpperCase()];
        return lower === upper ? letter.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : `[${lower}${upper}]`;
      })
      .join(''),
  );
  return { type: 'string', pattern: `^(?:${each.join('|')})$` };
}
