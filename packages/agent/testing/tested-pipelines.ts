/** Pipelines, and tests of them, as text. */

export const orchestration = (components: string) =>
  `type: orchestration\nversion: "1.0"\npipeline:\n  components:\n    Start:\n      type: start\n      transitions:\n        unconditional: [First]\n${components}`;

export const component = (name: string, type: string, parameters: string, next?: string) => {
  const transitions = next === undefined ? '' : `      transitions:\n        success: [${next}]\n`;
  return `    ${name}:\n      type: ${type}\n      parameters:\n${parameters.replaceAll(/^/gm, '        ')}\n${transitions}`;
};
export const sql = (name: string, text: string, next?: string) =>
  component(name, 'sql-script', `sqlScript: ${JSON.stringify(text)}`, next);
export const underTest = (name: string, next?: string, more = '') =>
  component('First', 'run-pipeline-under-test', `pipelineName: ${name}${more}`, next);

const transformation = `type: transformation
version: "1.0"
pipeline:
  components:
    Read:
      type: table-input
      parameters:
        targetTable: orders
        columnNames: [customer, amount]
    Write:
      type: rewrite-table
      sources: [Read]
      parameters:
        targetTable: totals
    Add:
      type: table-output
      sources: [Read]
      parameters:
        schema: sales
        targetTable: history
        outputMode: Append
        columnMapping: [[customer, customer], [amount, amount]]
`;

/** Writes in every way that a pipeline can. */
export const loading = {
  'load.orch.yaml': orchestration(
    [
      component(
        'First',
        'create-table',
        'newTableName: landed\ncreateReplace: Replace\ncolumns: [[id, NUMBER], [customer, VARCHAR]]',
        'Load',
      ),
      component('Load', 'file-load', 'source: orders.csv\nfileType: CSV\ntargetTable: landed', 'Merge'),
      sql(
        'Merge',
        'insert into main.orders (id, customer, amount) select id, customer, amount from landed; update orders set amount = amount + 1 where id = 3; create table sales.history as select customer, amount from orders where false; delete from lines',
        'Child',
      ),
      component(
        'Child',
        'run-orchestration',
        'orchestrationJob: inner/child\nsetScalarVariables: [[name, orders]]',
        'Unload',
      ),
      component('Unload', 'file-unload', 'table: orders\ntarget: out/orders.csv\nfileType: CSV'),
    ].join(''),
  ),
  'inner/child.orch.yaml': orchestration(
    [
      sql('First', "insert into @{name} (customer, amount) values ('Di', 40)".replace('@', '$'), 'Transform'),
      component('Transform', 'run-transformation', 'transformationJob: totals'),
    ].join(''),
  ).replace(
    'pipeline:\n',
    "pipeline:\n  variables:\n    name:\n      metadata: {type: TEXT, description: '', scope: SHARED, visibility: PUBLIC}\n      defaultValue: ''\n",
  ),
  'totals.tran.yaml': transformation,
};
