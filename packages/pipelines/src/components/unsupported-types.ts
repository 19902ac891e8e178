/** Types that are known but cannot run here. They fail by name. */
import type { TransformationDefinition } from './definition/component.ts';
import { namesParameter, placeParameters, textParameter } from './definition/declared-parameters.ts';

/** A component of a known type that cannot run. Only the run fails: the file may be published. */
export class UnsupportedComponentError extends Error {}

export const streamInput: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Reads the changes of a table from a stream. The warehouse has no streams, so the component fails.',
  group: 'read',
  parameters: {
    targetStream: textParameter('The stream.', { required: true }),
    ...placeParameters,
    columnNames: namesParameter('The columns.'),
  },
  example: `type: stream-input
parameters:
  targetStream: orders_stream`,
  sources: [0, 0],
  plan({ parameters }) {
    throw new UnsupportedComponentError(
      `it reads the stream "${parameters.optionalText('targetStream') ?? ''}", but the warehouse has no streams: compare tables with detect-changes`,
    );
  },
};

export const unknownTransformation: TransformationDefinition = {
  kind: 'transformation',
  output: true,
  about: 'What a migration from another product left over. The component fails: replace or remove it.',
  group: 'transform',
  parameters: {},
  example: `type: unknown-transformation
sources: [Orders]`,
  sources: [0, Number.POSITIVE_INFINITY],
  plan({ component }) {
    throw new UnsupportedComponentError(
      `"${component}" is an unmigrated component: a migration from another product left it over; replace or remove it`,
    );
  },
};
