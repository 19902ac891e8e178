/** The user's query over its sources, which it refers to as `$T{component}`. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { sqlParameter } from './definition/declared-parameters.ts';
import { readSingleQuery } from './definition/table-query.ts';

export const sqlComponent: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'The rows of a query, which refers to its sources as `$T{source}`.',
  group: 'read',
  parameters: {
    query: sqlParameter('The query.', { required: true }),
  },
  example: `type: sql
sources: [Orders]
parameters:
  query: SELECT customer, max(amount) AS largest FROM $T{Orders} GROUP BY customer`,
  sources: [0, Number.POSITIVE_INFINITY],
  plan({ parameters, sources, dialect }) {
    const query = replaceSources(parameters.text('query'), (component) => {
      const source = sources.find((each) => each.component === component.trim());
      if (source === undefined)
        throw new ParameterError(
          `"$T{${component}}" is not a source of the component: add it to its sources`,
        );
      return source.name;
    });
    return { select: readSingleQuery(query, dialect), columns: undefined };
  },
};

/** Replaces each `$T{component}`. */
function replaceSources(query: string, replace: (component: string) => string): string {
  const [head = '', ...parts] = query.split('$T{');
  return parts.reduce((text, part) => {
    const end = part.indexOf('}');
    return end < 0 ? `${text}$T{${part}` : text + replace(part.slice(0, end)) + part.slice(end + 1);
  }, head);
}
