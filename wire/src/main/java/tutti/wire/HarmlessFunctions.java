package tutti.wire;

import tutti.wire.sql.SqlTokens;

/**
 * Which functions a query may call and still count as a read. PostgreSQL's catalog decides where it can: a function of
 * {@code pg_catalog} that is not VOLATILE changes nothing. {@code HarmlessFunctionsTest} holds these lists against the catalog of a
 * real server.
 *
 * <p>
 * <b>Why there are lists.</b> A query is judged by its words, before any catalog is asked: with each statement, also the first of a
 * session. Behind {@code pg_catalog.} there is a function of PostgreSQL, so all count but {@link #EXCEPT}. A bare name may also be
 * that of a function of the application; so only {@link #WORDS} count, which hardly anybody gives to a function that writes.
 * (If somebody does, the capture's guard refuses the commit.) Names that begin with {@code pg_} count either way: they look at one
 * server, or administer it, and change no row of a table.
 */
final class HarmlessFunctions {
    /** What stands before a parenthesis and calls no function of that name. */
    static final String SYNTAX = """
            select from where and or not in exists any all some as on using case when then else values over filter
            within group by having order limit offset between like ilike similar is distinct union except intersect join
            lateral rows range groups partition with recursive materialized array row cast interval collate return
            numeric decimal varchar char character bpchar bit varying timestamp timestamptz time timetz float precision
            coalesce nullif greatest least trim string user""";

    /** Functions that do not change anything, as the catalog says, and that applications call by their bare names. */
    static final String UNCHANGING = """
            count sum avg min max now lower upper length char_length octet_length substr substring btrim ltrim rtrim
            lpad rpad replace position overlay concat concat_ws left right repeat reverse split_part strpos starts_with
            md5 sha256 encode decode format quote_ident quote_literal quote_nullable abs round floor ceil ceiling trunc
            mod power sqrt exp ln log sign div width_bucket extract date_part date_trunc date_bin age to_char to_date
            to_number to_timestamp make_date make_time make_timestamp make_timestamptz make_interval statement_timestamp
            transaction_timestamp justify_days justify_hours justify_interval isfinite array_agg string_agg json_agg
            jsonb_agg json_object_agg jsonb_object_agg json_build_object jsonb_build_object json_build_array
            jsonb_build_array to_json to_jsonb row_to_json json_array_length jsonb_array_length jsonb_array_elements
            jsonb_array_elements_text json_array_elements json_array_elements_text jsonb_each jsonb_each_text
            jsonb_object_keys jsonb_typeof json_typeof jsonb_extract_path jsonb_extract_path_text jsonb_path_exists
            jsonb_path_query jsonb_pretty jsonb_set jsonb_strip_nulls array_length array_upper array_lower array_append
            array_cat array_prepend array_position array_positions array_remove array_replace array_to_string
            string_to_array cardinality unnest generate_series generate_subscripts bool_and bool_or every bit_and bit_or
            stddev stddev_pop stddev_samp variance var_pop var_samp corr mode percentile_cont percentile_disc row_number
            rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value regexp_match
            regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_count regexp_like ascii chr
            initcap translate version current_database current_schema current_schemas current_setting current_user
            session_user obj_description col_description shobj_description format_type has_table_privilege
            has_schema_privilege has_database_privilege has_column_privilege has_any_column_privilege
            has_sequence_privilege has_function_privilege to_regclass to_regtype to_regproc to_regnamespace to_regrole
            txid_current_snapshot inet_server_addr inet_server_port inet_client_addr inet_client_port aclexplode
            acldefault xmlagg oidvectortypes array_to_json int4 int8 int2 text""";

    /** Functions that change no row although they are VOLATILE: chance, clocks, and sequences, whose numbers every node has its own of. */
    static final String VOLATILE = """
            random gen_random_uuid uuidv4 uuidv7 clock_timestamp timeofday nextval currval lastval""";

    /** The other VOLATILE ones, which queries do not call by their bare names, but tools may: they only look, or concern the session. */
    static final String VOLATILE_QUALIFIED = """
            random_normal array_sample array_shuffle setseed current_query txid_status lo_get lo_lseek lo_lseek64
            lo_tell lo_tell64 lo_close loread currtid2 amvalidate""";

    /** Functions of pg_catalog that change something, and those that run a query or read a table that a statement does not name. */
    static final String HARMFUL = """
            set_config setval query_to_xml query_to_xml_and_xmlschema query_to_xmlschema cursor_to_xml
            cursor_to_xmlschema table_to_xml table_to_xml_and_xmlschema table_to_xmlschema schema_to_xml
            schema_to_xml_and_xmlschema schema_to_xmlschema database_to_xml database_to_xml_and_xmlschema
            database_to_xmlschema ts_stat ts_rewrite pg_notify lo_create lo_creat lo_unlink lo_import lo_export lo_put
            lo_from_bytea lowrite lo_truncate lo_truncate64 lo_open brin_desummarize_range brin_summarize_new_values
            brin_summarize_range gin_clean_pending_list""";

    /** What functions of the server's are called here that others have taken the place of: they tell nobody what they do. */
    static final String HERE = """
            pg_notify_here lo_create_here lo_creat_here lo_unlink_here lo_import_here lo_put_here lo_from_bytea_here
            lo_open_here""";

    /** System catalogs. */
    static final String CATALOGS = """
            pg_aggregate pg_am pg_amop pg_amproc pg_attrdef pg_attribute pg_auth_members pg_authid pg_cast pg_class
            pg_collation pg_constraint pg_conversion pg_database pg_db_role_setting pg_default_acl pg_depend pg_description
            pg_enum pg_event_trigger pg_extension pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_index
            pg_inherits pg_init_privs pg_language pg_largeobject pg_largeobject_metadata pg_namespace pg_opclass
            pg_operator pg_opfamily pg_parameter_acl pg_partitioned_table pg_policy pg_proc pg_publication
            pg_publication_namespace pg_publication_rel pg_range pg_replication_origin pg_rewrite pg_seclabel pg_sequence
            pg_sequence_here pg_shdepend pg_shdescription pg_shseclabel pg_statistic pg_statistic_ext
            pg_statistic_ext_data pg_subscription pg_subscription_rel pg_tablespace pg_transform pg_trigger pg_ts_config
            pg_ts_config_map pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_user_mapping""";

    /** Bare names that may stand before a parenthesis. */
    static final long[] WORDS = SqlCursor.keys(SYNTAX + " " + UNCHANGING + " " + VOLATILE);
    /** Names that make a query a write even behind {@code pg_catalog.}. */
    static final long[] EXCEPT = SqlCursor.keys(HARMFUL + " " + HERE);

    private HarmlessFunctions() {}

    /** Whether a word before a parenthesis is none of a function, or that of one of the server's that changes nothing. */
    static boolean isHarmless(String word) {
        long key = SqlTokens.key(word);
        return SqlCursor.among(WORDS, key) && !SqlCursor.among(EXCEPT, key);
    }
}
