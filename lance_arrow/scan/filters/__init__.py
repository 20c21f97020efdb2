"""Filters: bound to a schema, and the rows of a source that satisfy one.

In: expressions of Arrow, and sources of rows. Out: rows that zone maps leave, and flags of those that were decoded.

| Module | Open it for |
|---|---|
| `filter_plan` | `FilterPlan`: a filter bound to a schema, and the columns that it mentions |
| `kept_plans`, `kept_by_schema` | the plans of the last filters, kept for the next scan |
| `kept_counts` | fragments as they were counted, kept for the next count |
| `row_filter` | `RowFilter`: rows of a source that satisfy a plan, found or counted |
| `known_counts` | what is known of counts of a file, also when it was closed since |
| `judged_counts` | rows of dictionaries that satisfy a condition, counted natively |
| `bound_filters` | filters bound to the columns that they mention, and evaluated by Arrow |
| `judges` | items of dictionaries, judged once by a condition |
| `item_filters` | conditions on dictionaries, evaluated once for each item |

Forbidden here: pyarrow's dataset classes, columns that a filter does not mention.
"""
