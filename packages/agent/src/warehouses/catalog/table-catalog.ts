/** How the tables and views of a kind of warehouse are read: the SQL, whose columns are the same for all kinds. */
export interface TableLookup {
  /** Undefined: the default schema. */
  schema: string | undefined;
  name: string;
}

export interface TableFilter {
  /** In upper or lower case. */
  contains: string | undefined;
  offset: number;
  limit: number;
}

export interface TableCatalog {
  /**
   * `total`, and of each table of the page `schema`, `name`, `kind`, `rows`, `bytes`, `comment`. One row with nulls if
   * the page is empty.
   */
  list(filter: TableFilter): string;
  /**
   * A row for each column: `schema`, `name`, `kind`, `rows`, `bytes`, `comment` of the table, and `column`, `type`,
   * `nullable`, `comment`. No rows without such a table.
   */
  describe(table: TableLookup): string;
  /** The number of rows of a table, where the warehouse knows it without reading them. */
  count?(table: { schema: string; name: string }): string;
  /** Whether values of a type may be long. */
  isLong(type: string): boolean;
}
