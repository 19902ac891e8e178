/** DuckDB's functions that make one value of several rows. */
const names = `
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min arg_min_null
argmax argmin array_agg avg bit_and bit_or bit_xor bitstring_agg bool_and bool_or corr count count_if countif
covar_pop covar_samp entropy favg first fsum geomean geometric_mean group_concat histogram histogram_exact json_group_array
json_group_object json_group_structure kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by mean median
min min_by mode product quantile quantile_cont quantile_disc percentile_cont percentile_disc regr_avgx regr_avgy
regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness stddev
stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance`;
const aggregates = new Set(names.split(/\s+/));

export const isAggregate = (name: string): boolean => aggregates.has(name.toLowerCase());
