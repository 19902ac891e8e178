import { createTestRedshift } from '../../../testing/fake-redshift.ts';
import { testServedFlows } from './served-flow-suite-fixture.ts';

testServedFlows('Redshift', {
  warehouse: 'REDSHIFT',
  create: createTestRedshift,
  refused: {
    'first-last': /Redshift has no first or last value of a group/,
    // Redshift itself converts the texts.
    'filter texts by a fraction': /operator does not exist: text = numeric/,
    'filter by a column': /Redshift does not say whether amount is a text/,
  },
  changedTwice: /several rows of the source match the same row of the table, for 1 of its rows/,
});
