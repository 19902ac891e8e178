/** Components that order, limit or pass on rows. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { numberParameter, orderParameter } from './definition/declared-parameters.ts';
import { getOnlySource, renderOrderBy } from './definition/plan-parts.ts';

export const order: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Orders the rows. Most components after it give rows in any order; a limit or an output keeps it.',
  group: 'transform',
  parameters: {
    orderBy: { ...orderParameter, required: true, otherNames: ['ordering', 'orderings', 'sortOrder'] },
  },
  aliases: ['sort', 'order-by'],
  example: `type: order
sources: [Orders]
parameters:
  orderBy:
    - [amount, Descending]`,
  sources: [1, 1],
  plan(context) {
    const source = getOnlySource(context);
    const clause = renderOrderBy(context.parameters, 'orderBy', context.dialect);
    return { select: `SELECT * FROM ${source.name}${clause}`, columns: source.columns };
  },
};

export const limit: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Keeps the first rows.',
  group: 'transform',
  parameters: {
    limit: numberParameter('How many rows.', { required: true, otherNames: ['rowLimit', 'numberOfRows'] }),
    offset: numberParameter('How many rows before them are skipped.', { standard: '0' }),
    orderBy: orderParameter,
  },
  example: `type: limit
sources: [Orders]
parameters:
  limit: "10"
  orderBy:
    - [amount, Descending]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const [count, offset] = [parameters.integer('limit'), parameters.optionalInteger('offset') ?? 0];
    for (const [name, value] of Object.entries({ limit: count, offset }))
      if (value < 0) throw new ParameterError(`"${name}" is ${value}: use 0 or more`);
    const clause = renderOrderBy(parameters, 'orderBy', dialect);
    return {
      select: `SELECT * FROM ${source.name}${clause}\nLIMIT ${count}${offset === 0 ? '' : ` OFFSET ${offset}`}`,
      columns: source.columns,
    };
  },
};

export const replicate: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Passes its rows on, so that several components can have it as a source.',
  group: 'transform',
  parameters: {},
  example: `type: replicate
sources: [Orders]`,
  sources: [1, 1],
  plan(context) {
    const source = getOnlySource(context);
    return { select: `SELECT * FROM ${source.name}`, columns: source.columns };
  },
};
