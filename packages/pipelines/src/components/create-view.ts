/** Creates or replaces a view of its source. */
import type { TransformationDefinition } from './definition/component.ts';
import { placeParameters, textParameter } from './definition/declared-parameters.ts';
import { createInSchema, getOnlySource, readTableReference } from './definition/plan-parts.ts';

export const createView: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about: 'Creates or replaces a view of its source. The view reads the tables whenever it is read.',
  group: 'write',
  parameters: {
    viewName: textParameter('The view.', { required: true, otherNames: ['view'] }),
    ...placeParameters,
  },
  noEffect: ['secureView', 'viewType', 'catalog'],
  example: `type: create-view
sources: [Totals by customer]
parameters:
  viewName: totals_by_customer`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const reference = readTableReference(parameters, 'viewName');
    const view = dialect.table(reference);
    const source = getOnlySource(context);
    return {
      select: `SELECT * FROM ${source.name}`,
      write: (query) => createInSchema(dialect, reference, `CREATE OR REPLACE VIEW ${view} AS\n${query}`),
      written: { select: `SELECT * FROM ${view}`, columns: source.columns },
      creates: true,
      isView: true,
    };
  },
};
